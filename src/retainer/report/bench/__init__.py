"""The tables and the page of a bench."""
