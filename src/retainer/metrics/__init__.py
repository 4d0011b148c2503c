"""Numbers about predictions: F1, forgetting, significance, calibration, thresholds."""
