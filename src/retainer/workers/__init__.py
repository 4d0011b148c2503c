"""Bulk tagging, by processes or on Ray."""
