"""Learning a task: the request, its preparation, the one training loop, checkpoints, previews."""
