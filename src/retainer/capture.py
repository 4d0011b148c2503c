"""Steps recorded as CUDA graphs: the kernels of a step follow each other without waiting for Python.

A small batch keeps a GPU busy for a microsecond or two per kernel, and Python needs ten to launch one. A recorded step
is launched whole. The arithmetic is the same, kernel by kernel.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Step = Callable[[Tensor, int], None]
Shape = tuple[int, int]


class Captured:
    """A step that runs plainly the first time a shape comes, is recorded the second time, and replayed from then on.

    An encoder that cannot be recorded, because it asks the device for numbers on its way, goes on plainly, and
    ``note`` is told why.
    """

    def __init__(self, step: Step, size: int, device: torch.device, note: Callable[[str], None]) -> None:
        self.step, self.note, self.possible = step, note, True
        self.windows = torch.zeros(size, dtype=torch.long, device=device)
        self.seen: set[Shape] = set()
        self.graphs: dict[Shape, torch.cuda.CUDAGraph] = {}

    def __call__(self, windows: Tensor, length: int) -> None:
        """Make one step."""
        shape = (len(windows), length)
        if self._recorded(shape):
            self.windows[: len(windows)].copy_(windows)
            self.graphs[shape].replay()
        else:
            self.step(windows, length)

    def _recorded(self, shape: Shape) -> bool:
        """Record a shape when it comes the second time; the first, plain step made everything that must last."""
        if shape in self.seen and shape not in self.graphs and self.possible:
            self._record(shape)
        self.seen.add(shape)
        return shape in self.graphs

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
            self.possible = False
            self.note(f"steps run kernel by kernel, for this encoder cannot be recorded: {str(error).splitlines()[0]}")
