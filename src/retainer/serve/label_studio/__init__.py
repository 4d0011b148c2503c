"""The ML backend of Label Studio: predictions for its tasks, and its annotations into a project."""
