"""The page and the tables of two versions."""
