"""What somebody asks for when they press "teach": few choices, each with a default that is right for most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from retainer.errors import InputError, unknown
from retainer.methods import METHODS, learnable

TEACH = "teach"
"""The kind of the jobs that teach."""
TEACH_METHOD = "retain"
"""The one that uses the texts without a decision best."""
MOST_EPOCHS = 1000


@dataclass(frozen=True)
class TeachRequest:
    """How to teach the texts with a decision to the version in use."""

    method: str = TEACH_METHOD
    epochs: int = 10
    text: bool = True
    """Whether the texts without a decision help to keep old types."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what could only fail later, in another process."""
        if self.method not in learnable():
            raise unknown("method", self.method, learnable())
        if not 1 <= self.epochs <= MOST_EPOCHS:
            raise InputError(f"1 to {MOST_EPOCHS} epochs can be taught, not {self.epochs}")
        if not 0 <= self.seed < 2**31:
            raise InputError(f"a seed is a number from 0 to {2**31 - 1}, not {self.seed}")

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> TeachRequest:
        """Read the request of a job."""
        return cls(**request)

    def as_dict(self) -> dict[str, Any]:
        """Return it as a job keeps it."""
        return asdict(self)

    @property
    def takes_text(self) -> bool:
        """Whether texts without a decision are asked for and the method can use them."""
        return self.text and METHODS[self.method].takes_text
