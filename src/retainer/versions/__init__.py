"""Versions on disk: the folder, its lineage and card, verify, rollback, and types by other names."""
