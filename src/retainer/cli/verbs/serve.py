"""`retainer serve`."""

from __future__ import annotations

import signal
import socket as socket_module
from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING

from retainer.cli.output import note
from retainer.errors import InputError

if TYPE_CHECKING:
    from retainer.serve.settings import Settings

NEEDED = ("fastapi", "uvicorn")


def serve(
    *models: str,
    host: str = "127.0.0.1",
    port: int = 8000,
    token_file: str | None = None,
    cors: tuple[str, ...] = (),
    allow_host: tuple[str, ...] = (),
    watch: float = 0.0,
    max_body: int = 1_048_576,
    max_texts: int = 256,
    max_characters: int = 50_000,
    max_requests: int = 256,
    timeout: float = 30.0,
    device: str = "auto",
    workers: int = 1,
    workbench: str | None = None,
    label_studio: bool = False,
) -> None:
    """Serve versions over HTTP: predict, compare, list; the API is described at /docs.

    A version whose folder was replaced is loaded beside the old one and takes over without losing a request: on
    SIGHUP, on POST /v1/reload if there is a token, and by itself with --watch. SIGTERM stops after the last answer.

    :param models: versions to serve, by folder, hub name or NAME=FOLDER; the first answers requests that name none
    :param host: the address to listen on; the default is reached from this machine alone
    :param port: the port to listen on; 0 takes a free one
    :param token_file: a file with a token that every request must show (Authorization: Bearer TOKEN)
    :param cors: origins of pages that may send requests, such as https://example.org
    :param allow_host: more host names to answer to, for a proxy that passes them on
    :param watch: look for new versions every so many seconds (default: only on request)
    :param max_body: maximum bytes of a request
    :param max_texts: maximum texts of a request
    :param max_characters: maximum characters of a text
    :param max_requests: maximum requests at once
    :param timeout: maximum seconds a request may take
    :param device: auto, cpu or cuda
    :param workers: processes that answer behind the one port; each holds all versions in memory
    :param workbench: folder of a project to look, correct and teach in, made if there is none; needs --token-file
    :param label_studio: be an ML backend of Label Studio too; with a workbench, its annotations are kept and taught
    """
    _require_extra()
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # by default it would end a server that still loads
    from retainer.serve.address import bind_socket, socket_url
    from retainer.serve.model_paths import paths_by_name
    from retainer.serve.settings import MAKE_TOKEN, Limits, Settings, host_names, is_local, read_token

    if watch < 0:
        raise InputError(f"--watch {watch:g}: expected seconds, or 0 for never")
    limits = Limits(max_body, max_texts, max_characters, max_requests, timeout)
    token = read_token(token_file) if token_file else ""
    settings = Settings(limits, token, cors, host_names(host, allow_host), label_studio)
    if workbench is not None and Path(workbench).is_file():
        raise InputError(f"{workbench} is a file; --workbench takes a folder")
    if workbench is not None and not token:
        raise InputError(
            "--workbench needs --token-file FILE: requests with the token change the project; make one: "
            f"{MAKE_TOKEN.format('FILE')}"
        )
    if workbench is None and not models:
        raise InputError("missing: models, or a project (--workbench FOLDER)")
    _require_workers(workers, settings, workbench)
    paths = paths_by_name(models)
    bound = bind_socket(host, port)
    if not token and not is_local(host):
        note(f"retainer: every client that reaches {host} may send requests; --token-file restricts that")
    if label_studio:
        _say_how_to_connect(socket_url(bound), token)
    start = partial(_serve_models, paths, workers) if workbench is None else partial(_serve_project, workbench, paths)
    start(settings, bound, watch, device)


def _require_workers(workers: int, settings: Settings, workbench: str | None) -> None:
    """Refuse a number of workers that makes no sense, and what one process must do alone."""
    from retainer.serve.workers.orders import shared_settings

    shared_settings(settings, workers)
    if workers > 1 and (workbench is not None or settings.label_studio):
        what = "--workbench" if workbench is not None else "--label-studio"
        raise InputError(f"{what} runs in one process; leave out --workers, or serve the versions by themselves")
    if workers > 1 and not hasattr(socket_module, "send_fds"):
        raise InputError("--workers needs a system that passes connections between processes, such as Linux or macOS")


def _say_how_to_connect(address: str, token: str) -> None:
    """Print what Label Studio needs to know."""
    from retainer.serve.credentials import webhook_secret

    note(f"retainer: connect Label Studio to {address}" + (", with the token as the password" if token else ""))
    if token:
        note(f"retainer: a webhook of your own is sent to {address}/webhook?secret={webhook_secret(token)}")


def _serve_models(
    paths: Mapping[str, str], workers: int, settings: Settings, bound: socket, watch: float, device: str
) -> None:
    note(f"retainer: loading {', '.join(paths)}")
    if workers > 1:
        from retainer.serve.workers.orders import Orders, shared_settings
        from retainer.serve.workers.supervisor import run_workers

        orders = Orders(shared_settings(settings, workers), dict(paths), device)
        return run_workers(orders, workers, bound, note, watch=watch)
    from retainer.serve.metrics import Metrics
    from retainer.serve.registry import Registry
    from retainer.serve.server import run_server

    run_server(Registry(paths, Metrics(), note, device=device), settings, bound, note, watch=watch)


def _serve_project(
    folder: str, paths: Mapping[str, str], settings: Settings, bound: socket, watch: float, device: str
) -> None:
    from retainer.serve.server import run_server
    from retainer.serve.workbench.opening import served_project

    with served_project(folder, paths, note, device=device) as project:
        run_server(project.registry, settings, bound, note, watch=watch, project=project)


def _require_extra() -> None:
    """Say in one sentence what is missing."""
    if missing := [package for package in NEEDED if not _there(package)]:
        raise InputError(f"serve needs {' and '.join(missing)}; install it: pip install 'retainer[serve]'")


def _there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # sys.modules bars it
        return False
