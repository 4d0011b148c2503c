"""A Ray cluster: one that runs somewhere, or one on this machine for the time of a call. Needs the extra `ray`."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import socket
import tempfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from retainer.errors import InputError, disk_refusals, quoted
from retainer.files import scratch_folder
from retainer.runtime import cores

LOCAL = "local"
"""The address that means: a cluster on this machine, which begins and ends with the call."""
AUTO = "auto"
"""The address that means: the cluster this machine is a node of."""
_SECONDS = 5.0
"""How long the head of a cluster may take to answer at all."""

Files = Mapping[str, bytes]
"""The files of a folder by their names, as they travel to a node."""


def require_ray() -> None:
    """Refuse to go on without the package, and say how to get it."""
    if find_spec("ray") is None:
        raise InputError("--ray needs the package ray; install it: pip install 'retainer[ray]'")


@contextlib.contextmanager
def cluster(address: str) -> Iterator[Mapping[str, float]]:
    """Connect to a cluster and give its resources; all that Ray prints about itself is left out."""
    require_ray()
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    with contextlib.ExitStack() as stack:
        options = _local(stack) if address == LOCAL else _there(address)
        import ray

        with _refusals(address):
            ray.init(**options, log_to_driver=False, logging_level="CRITICAL", configure_logging=False)
        stack.callback(ray.shutdown)
        yield _required(ray.cluster_resources(), address)


def _local(stack: contextlib.ExitStack) -> dict[str, Any]:
    """Describe a cluster on this machine that only this call can reach, with its files in a folder of its own.

    The name of the folder is short, because sockets in it must have short names.
    """
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # all it does: daemons listen on the loopback device alone
    if os.environ.setdefault("RAY_AUTH_MODE", "token") == "token":
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))  # else Ray leaves one in the home folder
    above = Path("/tmp") if os.path.isdir("/tmp") else Path(tempfile.gettempdir())
    folder = stack.enter_context(scratch_folder(above / "ray"))
    return {
        "address": LOCAL,
        "num_cpus": cores(),
        "include_dashboard": False,
        "_temp_dir": str(folder),
        "_node_ip_address": "127.0.0.1",
    }


def _there(address: str) -> dict[str, Any]:
    """Describe a cluster that runs; one whose head does not answer is refused at once, where Ray waits for ever."""
    found = _of_this_machine() if address == AUTO else address
    host, _, port = found.rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        raise InputError(
            f"--ray {quoted(found)}: give HOST:PORT of the head of a cluster this machine is a node of, auto or local"
        )
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _SECONDS) as connection:
            reason = "" if _speaks_http2(connection) else "what listens there is no Ray"
    except (OSError, OverflowError) as error:
        reason = str(getattr(error, "strerror", None) or error)
    if reason:
        raise InputError(f"there is no Ray cluster at {found} ({reason}); start one: ray start --head")
    return {"address": found}


def _of_this_machine() -> str:
    """Return the address of the cluster this machine is a node of, as Ray finds it; it may be that of a dead one."""
    from ray._private.services import canonicalize_bootstrap_address

    try:
        found: str | None = canonicalize_bootstrap_address(AUTO)
    except ConnectionError:
        found = None
    if found is None:
        raise InputError("--ray auto: this machine is not a node of a Ray cluster; start one: ray start --head")
    return found


def _speaks_http2(connection: socket.socket) -> bool:
    """Say whether a server greets as Ray's do: they speak HTTP/2, whose first answer is a frame of settings (type 4).

    Encrypted ones greet otherwise, and are believed.
    """
    if os.environ.get("RAY_USE_TLS", "0") not in ("", "0"):
        return True
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
    return connection.recv(9)[3:4] == b"\x04"


@contextlib.contextmanager
def _refusals(address: str) -> Iterator[None]:
    """Turn what Ray says about a cluster it cannot use into one sentence."""
    try:
        yield
    except (ConnectionError, RuntimeError, ValueError, OSError, TimeoutError) as error:
        text = " ".join(str(error).split())
        if "ersion mismatch" in text:
            raise InputError(f"the cluster at {address} runs another Ray or Python than this machine: {text}") from None
        raise InputError(f"the Ray cluster at {address} cannot be used: {text or type(error).__name__}") from None


def _required(resources: Mapping[str, float], address: str) -> Mapping[str, float]:
    if resources.get("CPU", 0) < 1:
        raise InputError(f"the Ray cluster at {address} has no CPU to work on; add a node: ray start --address")
    return resources


def fits_a_node(wanted: Mapping[str, float]) -> bool:
    """Say whether some node that lives has as much of everything as one task asks for; else it would wait for ever."""
    import ray

    sizes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return any(all(size.get(name, 0) >= much for name, much in wanted.items()) for size in sizes)


def packed(folder: Path, without: str = "") -> Files:
    """Read the files of a folder, to send them to a node that does not share its disk; one folder can be left out."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in files}
    return {name: path.read_bytes() for name, path in names.items() if not name.startswith(f"{without or '/'}/")}


@contextlib.contextmanager
def unpacked_folder(files: Files) -> Iterator[Path]:
    """Write files to a folder of this node that vanishes in the end."""
    with tempfile.TemporaryDirectory(prefix="retainer-", ignore_cleanup_errors=True) as place:
        with disk_refusals(place):
            write_files(files, Path(place))
        yield Path(place)


def write_files(files: Files, folder: Path) -> None:
    """Write files below a folder."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
