"""Several processes on one GPU. Without help they take turns; NVIDIA's multi-process service lets them run at once."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator

CONTROL = "nvidia-cuda-mps-control"


@contextlib.contextmanager
def shared_gpu() -> Iterator[bool]:
    """Let the processes started inside the block share a GPU, and say whether the service could be started.

    A service that is already there is left alone. Ours lives in a folder of its own and ends with the block.
    """
    if "CUDA_MPS_PIPE_DIRECTORY" in os.environ or shutil.which(CONTROL) is None:
        yield "CUDA_MPS_PIPE_DIRECTORY" in os.environ
        return
    with tempfile.TemporaryDirectory(prefix="mps-") as folder:
        places = {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
        os.environ.update(places)
        try:
            yield subprocess.run([CONTROL, "-d"], capture_output=True).returncode == 0
        finally:
            subprocess.run([CONTROL], input=b"quit\n", capture_output=True)
            for name in places:
                del os.environ[name]
