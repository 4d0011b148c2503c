"""Bulk tagging: any number of texts in, shards with their entities out, each of them exactly once."""
