"""Texts that are held back: versions are compared on them, and none is ever trained on them.

The text alone decides, by its hash. So it is decided before anybody looks at it, a text never moves from one side to
the other, and where the same text comes into another project it lies on the same side there.
"""

from __future__ import annotations

import hashlib

HELD_BACK_SHARE = 0.2
"""The share of texts that are held back."""


def text_hash(text: str) -> bytes:
    """Return the SHA-256 of a text, which stands for it."""
    return hashlib.sha256(text.encode()).digest()


def is_held_back(hash_: bytes, share: float = HELD_BACK_SHARE) -> bool:
    """Return whether the text with this hash is held back; a larger share only adds texts."""
    return int.from_bytes(hash_[:8], "big") < share * 2**64
