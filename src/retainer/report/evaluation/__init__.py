"""The page of an evaluation, with reliability plots."""
