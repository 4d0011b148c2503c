"""Versions on disk: the folder, its lineage and card, verify, rollback, and changes of its types."""
