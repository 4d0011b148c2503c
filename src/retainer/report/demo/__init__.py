"""The page of the demo."""
