"""Runs written down in trackers of experiments: MLflow, TensorBoard, Weights & Biases (needs the extra `track`)."""
