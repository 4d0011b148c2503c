"""Measures of predictions: F1, forgetting, significance, calibration, thresholds."""
