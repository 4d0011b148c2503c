"""Several processes that learn one task together, each with the whole model on a device of its own.

Batches are those of one process, in the same order. Of every batch a process takes each so-many-th row, and what is
divided by a number of words is divided by that of the whole batch; so the gradients of all processes add up to the
gradient one process would have. They are added up once per step, together with the terms of the loss, and every
process makes the same update. What is decided (an epoch, a prior) the first process decides for all.

Every process computes by itself what the teacher says about the slice: that is one look, where an epoch costs three,
and which rows a process gets changes from epoch to epoch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import torch
from safetensors.torch import load as unpack
from safetensors.torch import save as pack
from torch import Tensor, distributed, nn

from retainer.errors import InputError
from retainer.training.checkpoint import State

_T = TypeVar("_T")


class Ranks:
    """A run of one process: it has all the work, agrees with itself, and waits for nobody."""

    rank = 0
    size = 1

    @property
    def leads(self) -> bool:
        """Whether this is the process that decides, writes and reports."""
        return self.rank == 0

    def takes_over(self) -> bool:
        """Say whether this process keeps the state of a run that broke off: the first does, as long as it is there."""
        return True

    def require_work(self, batch: int) -> None:
        """Refuse more processes than a batch has rows."""

    def part(self, windows: Tensor) -> Tensor:
        """Return the rows of a batch that this process computes; where it has none, one that does not count."""
        return windows

    def is_idle(self, windows: Tensor) -> bool:
        """Say whether this process has no row of a batch; only the last batch of an epoch may be so small."""
        return False

    def rows_among(self, first: int) -> int:
        """Return how many of the first rows of a batch are rows of this process: its own first ones."""
        return first

    def total(self, count: Tensor) -> Tensor:
        """Return a count of this process as the count of all."""
        return count

    def add_up(self, parameters: Sequence[Tensor], terms: Tensor) -> Tensor:
        """Give every parameter the gradient of the whole batch, and return the terms of the loss of the whole batch."""
        return terms

    def from_first(self, work: Callable[[], _T]) -> _T:
        """Let the first process work something out that JSON can hold, and return it in all of them."""
        return work()

    def same_weights(self, module: nn.Module) -> None:
        """Give a module the weights it has in the first process: two devices may round differently."""

    def same_state(self, state: State | None, device: torch.device) -> State | None:
        """Return the state that the first process has found."""
        return state


ALONE = Ranks()
"""What every run is that torchrun has not started."""


class Connections(Protocol):
    """What connects a process to the others."""

    def lost(self, error: RuntimeError) -> BaseException:
        """Say what a broken connection means."""

    def takes_over(self) -> bool:
        """Say whether the first process is gone, and this one is to do what must be done."""


class SeveralRanks(Ranks):
    """One of several processes."""

    def __init__(self, rank: int, size: int, connections: Connections) -> None:
        self.rank, self.size, self.connections = rank, size, connections

    def takes_over(self) -> bool:
        """Say whether no earlier process keeps the state."""
        return self.leads or self.connections.takes_over()

    def require_work(self, batch: int) -> None:
        """Refuse more processes than a batch has rows."""
        if self.size > batch:
            raise InputError(
                f"{self.size} processes share batches of {batch} sentences, so some have nothing to do; start at most "
                f"{batch}"
            )

    def part(self, windows: Tensor) -> Tensor:
        """Return every so-many-th row: each process gets its share of second looks and of text."""
        return windows[self.rank :: self.size] if not self.is_idle(windows) else windows[:1]

    def is_idle(self, windows: Tensor) -> bool:
        """Say whether there are too few rows for this process."""
        return len(windows) <= self.rank

    def rows_among(self, first: int) -> int:
        """Return how many of the first rows are those of this process."""
        return max(0, -(-(first - self.rank) // self.size))

    def total(self, count: Tensor) -> Tensor:
        """Add the counts of all processes up."""
        return self._sum(count.clone())

    def add_up(self, parameters: Sequence[Tensor], terms: Tensor) -> Tensor:
        """Add gradients and terms up in one message.

        A parameter that no process has a gradient for keeps none: the optimizer passes over it, as for one process.
        """
        used = terms.new_tensor([float(one.grad is not None) for one in parameters])
        grads = [(torch.zeros_like(one) if one.grad is None else one.grad).flatten() for one in parameters]
        sums = self._sum(torch.cat([*grads, used, terms]))
        *grads, used, terms = torch.split(sums, [*map(len, grads), len(used), len(terms)])
        anywhere = [True] * len(grads) if all(one.grad is not None for one in parameters) else used.bool().tolist()
        for one, grad, is_used in zip(parameters, grads, anywhere, strict=True):
            one.grad = grad.view_as(one) if is_used else None
        return terms

    def from_first(self, work: Callable[[], _T]) -> _T:
        """Send the answer of the first process to the others."""
        answer: _T = json.loads(self._sent(json.dumps(work()).encode() if self.leads else b""))
        return answer

    def same_weights(self, module: nn.Module) -> None:
        """Send the weights of the first process to the others."""
        for parameter in module.parameters():
            self._send(parameter.data)

    def same_state(self, state: State | None, device: torch.device) -> State | None:
        """Send the state the first process has found to the others: a disk need not be shared."""
        facts = self.from_first(lambda: None if state is None else state.facts)
        if facts is None:
            return None
        parts = [{} if state is None else getattr(state, part) for part in ("student", "optimizer", "best")]
        packed = [self._sent(pack(part) if self.leads else b"") for part in parts]
        loaded = [unpack(part) for part in packed]
        student, optimizer, best = ({name: one.to(device) for name, one in part.items()} for part in loaded)
        return state or State(student, optimizer, best, facts)

    def _sent(self, message: bytes) -> bytes:
        """Send some bytes of the first process to the others."""
        size = torch.tensor([len(message)])
        self._send(size)
        content = torch.empty(int(size), dtype=torch.uint8)
        if self.leads:
            content.copy_(torch.frombuffer(bytearray(message), dtype=torch.uint8))
        self._send(content)
        return content.numpy().tobytes()

    def _send(self, tensor: Tensor) -> None:
        self._call(lambda: distributed.broadcast(tensor, 0))

    def _sum(self, tensor: Tensor) -> Tensor:
        self._call(lambda: distributed.all_reduce(tensor))
        return tensor

    def _call(self, exchange: Callable[[], object]) -> None:
        """Exchange something with the other processes, or say what has become of them."""
        try:
            exchange()
        except RuntimeError as error:
            raise self.connections.lost(error) from error
