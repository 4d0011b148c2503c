"""Steps recorded as CUDA graphs: the kernels of a step follow each other without waiting for Python.

A small batch keeps a GPU busy for a microsecond or two per kernel, and Python needs ten to launch one. A recorded step
is launched whole. The arithmetic is the same, kernel by kernel.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

StepFunction = Callable[[Tensor, int], None]
Shape = tuple[int, int]


class CudaGraphStep:
    """A step that runs plainly once, and then is recorded for every shape that comes and replayed.

    The plain step makes everything that must last, such as the optimizer's state; recording costs no more than a
    second one would. A shape that cannot be recorded runs plainly first, which may be all it needs. An encoder that
    cannot be recorded even then, because it asks the device for numbers on its way, goes on plainly, and ``note`` gets
    the reason.
    """

    def __init__(self, step: StepFunction, size: int, device: torch.device, note: Callable[[str], None]) -> None:
        self.step, self.note, self.possible = step, note, True
        self.windows = torch.zeros(size, dtype=torch.long, device=device)
        self.plain: set[Shape] = set()
        self.graphs: dict[Shape, torch.cuda.CUDAGraph] = {}

    def __call__(self, windows: Tensor, length: int) -> None:
        """Make one step."""
        shape = (len(windows), length)
        if self.plain and self.possible and shape not in self.graphs:
            self._record(shape)
        if shape in self.graphs:
            self.windows[: len(windows)].copy_(windows)
            self.graphs[shape].replay()
        else:
            self.step(windows, length)
            self.plain.add(shape)

    def _record(self, shape: Shape) -> None:
        """Record a step without running it; all recordings share their memory, for only one runs at a time."""
        graph = torch.cuda.CUDAGraph()
        pool = next((other.pool() for other in self.graphs.values()), None)
        size, length = shape
        try:
            with torch.cuda.graph(graph, pool=pool):
                self.step(self.windows[:size], length)
            self.graphs[shape] = graph
        except RuntimeError as error:
            self.possible = shape not in self.plain
            if not self.possible:
                reason = str(error).splitlines()[0]
                self.note(f"steps run kernel by kernel, for this encoder cannot be recorded: {reason}")
