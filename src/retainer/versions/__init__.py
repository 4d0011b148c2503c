"""Versions on disk: folder, lineage and card, verify, rollback, changes of types."""
