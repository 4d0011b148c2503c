"""Teach a named-entity recogniser new types without forgetting the old ones."""
