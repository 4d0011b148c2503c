"""Texts that are held back: versions are compared on them, and none is ever trained on them.

The hash of a text decides, before anybody looks at it, and a text never moves from one side to the other. Only where
chance would hold back far more or fewer than one in five, which happens among few texts, the count decides instead. So
nearly every text lies on the same side in another project, too.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

HELD_BACK_SHARE = 0.2
"""The share of texts that are held back."""


def text_hash(text: str) -> bytes:
    """Return the SHA-256 of a text, which stands for it."""
    return hashlib.sha256(text.encode()).digest()


def is_held_back(hash_: bytes, share: float = HELD_BACK_SHARE) -> bool:
    """Return whether the text with this hash is held back; a larger share only adds texts."""
    return int.from_bytes(hash_[:8], "big") < share * 2**64


_LEAST_APART, _SHARE_APART = 3, 0.02
"""How many texts more or fewer than one in five may be held back: three, or two in a hundred of many."""


@dataclass
class HeldBackCount:
    """How many texts there are, and how many of them are held back."""

    texts: int
    held_back: int

    def side(self, hash_: bytes) -> bool:
        """Return whether the next text is held back, and count it."""
        chosen = is_held_back(hash_)
        expected = HELD_BACK_SHARE * (self.texts + 1)
        apart = self.held_back + chosen - expected
        if abs(apart) > max(_LEAST_APART, _SHARE_APART * self.texts):
            chosen = apart < 0
        self.texts += 1
        self.held_back += chosen
        return chosen
