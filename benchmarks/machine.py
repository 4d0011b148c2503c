"""What a measurement was made on, for the result files."""

import os
from pathlib import Path
from typing import Any

import torch

from retainer.runtime import versions

FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile")


def machine() -> dict[str, Any]:
    """Describe the machine and the software."""
    info = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    flags = next((line for line in info if line.startswith("flags")), "").split()
    return {
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "cores": len(os.sched_getaffinity(0)),
        "threads": torch.get_num_threads(),
        "cpu": next((line.split(":")[1].strip() for line in info if line.startswith("model name")), ""),
        "cpu_flags": [flag for flag in FLAGS if flag in flags],
        "versions": versions(),
    }


def resident(pid: int) -> float:
    """Return how much memory a process holds, in MB."""
    line = next(one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("VmRSS"))
    return int(line.split()[1]) / 1024
