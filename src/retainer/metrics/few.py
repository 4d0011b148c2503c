"""How many entities a percentage needs, and how many a verdict."""

FEW_ENTITIES = 20
"""Fewer entities than this get no percentage: a single one would be more than five points of it. Even 20 of 20 shows
(with 95 %) no more than that six in seven are found."""

LEAST_ENTITIES_NAMED = 5
"""Fewer entities than this single out no type and prove no failure: five are all missed by chance one time in thirty,
if half of them are found."""


def is_few(number: int) -> bool:
    """Return whether there are entities to count, but too few for a percentage."""
    return 0 < number < FEW_ENTITIES
