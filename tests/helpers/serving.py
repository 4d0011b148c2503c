"""Servers for tests: an application, a server in a thread of this process, and one in a process of its own."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager, contextmanager
from threading import Thread

import httpx2

from retainer.serve.address import bind_socket, socket_url
from retainer.serve.app import application, busy_app
from retainer.serve.metrics import Metrics
from retainer.serve.model_paths import paths_by_name
from retainer.serve.registry import Registry
from retainer.serve.server import Server, uvicorn_config
from retainer.serve.settings import LOCAL_HOSTS, Settings

HOST = "http://127.0.0.1"


def loaded(paths):
    """Load versions into a registry; its log is the list ``lines``."""
    lines = []
    registry = Registry({name: str(path) for name, path in paths.items()}, Metrics(), lines.append, device="cpu")
    registry.lines = lines
    return registry


def client_of(app):
    """Return a client of an application in this process."""
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=HOST, timeout=60)


@asynccontextmanager
async def serving(paths, settings=None):
    """Yield a client of a fresh application, and the registry behind it."""
    registry = loaded(paths)
    app = application(registry, settings or Settings(), registry.lines.append)
    try:
        async with client_of(app) as client:
            yield client, registry
    finally:
        registry.close(seconds=10)


class Applications:
    """Applications over one registry, one per settings, for tests that only send requests."""

    def __init__(self, registry):
        self.registry, self._apps = registry, {}

    def ask(self, method, path, settings=None, **options):
        """Send one request and return the response."""
        [response] = self.ask_all([(method, path, options)], settings)
        return response

    def ask_all(self, requests, settings=None):
        """Send requests of (method, path, options), one after the other, and return the responses."""
        settings = settings or Settings()
        if settings not in self._apps:
            self._apps[settings] = application(self.registry, settings, self.registry.lines.append)

        async def run():
            async with client_of(self._apps[settings]) as client:
                return [await client.request(method, path, **options) for method, path, options in requests]

        return asyncio.run(run())


def samples(text):
    """The samples of /metrics as Prometheus' own parser reads them: by name, and by name and labels."""
    from prometheus_client.parser import text_string_to_metric_families

    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
    return found


def total(found, name, **labels):
    """The sum over all samples of a name that have some labels."""
    return sum(value for (own, have), value in found.items() if own == name and labels.items() <= dict(have).items())


class Listening:
    """A server at a port of this machine."""

    port: int

    def raw(self, data, *, wait=5.0):
        """Send bytes that need not be HTTP, and return all bytes that come back before the connection ends."""
        with self.connect(timeout=wait) as connection:
            connection.sendall(data)
            return received(connection)

    def connect(self, timeout=20.0):
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)


class ThreadServer(Listening):
    """What `retainer serve` runs, in a thread of this process: no second one has to load torch."""

    def __init__(self, specs, settings):
        self.socket = bind_socket("127.0.0.1", 0)
        self.address, self.port = socket_url(self.socket), self.socket.getsockname()[1]
        self.registry = loaded(paths_by_name(specs))
        app = application(self.registry, settings, self.registry.lines.append)
        config = uvicorn_config(app, busy_app(self.registry), settings)
        self.server = Server(config, self.registry, self.registry.lines.append)
        self.thread = Thread(target=lambda: asyncio.run(self.server.serve(sockets=[self.socket])), daemon=True)
        self.thread.start()
        until(lambda: self.server.started)

    def stop(self, *, force=True):
        """End it; nothing listens any more, and with ``force`` open connections are closed."""
        self.server.should_exit, self.server.force_exit = True, force
        self.thread.join(10)
        self.socket.close()
        self.registry.close(seconds=5)


@contextmanager
def served(*specs, settings=None):
    """Serve versions at an address of this machine."""
    running = ThreadServer([str(spec) for spec in specs], settings or Settings(hosts=LOCAL_HOSTS))
    try:
        yield running
    finally:
        running.stop()


class Process(Listening):
    """`retainer serve` as a user starts it."""

    def __init__(self, *arguments, descriptors):
        call = [sys.executable, "-m", "retainer", "serve", *map(str, arguments), "--port", "0", "--device", "cpu"]
        self.process = subprocess.Popen(
            ["sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh", *call],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stderr), daemon=True)
        for line in self.process.stderr:
            self.lines.append(line)
            if found := re.search(r"on (http://[\d.]+:(\d+)),", line):
                break
        else:
            raise AssertionError("".join(self.lines))
        self.reader.start()
        self.address, self.port = found[1], int(found[2])

    def stop(self):
        """Ask it to stop, and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def ended(self):
        """Wait for the end, and return the exit status."""
        status = self.process.wait(timeout=60)
        self.reader.join()
        return status


def received(connection):
    """Read until the other side closes, or sends nothing for too long."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except TimeoutError:
        parts.append(b"(it was left open)")
    return b"".join(parts)


def one_response(connection):
    """Read one response of a connection that stays open."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536) or b"\r\n\r\n(closed)"
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(re.search(rb"content-length: (\d+)", head)[1])
    while len(body) < length:
        part = connection.recv(65536)
        assert part, "closed in the middle of a response"
        body += part
    return head + b"\r\n\r\n" + body


@contextmanager
def started(*arguments, descriptors=1024):
    """Start a server in a process that may open so many files, and end it whatever happens."""
    server = Process(*arguments, descriptors=descriptors)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.ended()
        server.process.stderr.close()


def predict_request(texts, **fields):
    """The bytes of a request to predict."""
    body = json.dumps({"texts": texts, **fields}).encode()
    head = (
        f"POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    return head.encode() + b"\r\n\r\n" + body


def until(true, seconds=30.0):
    """Wait for something to become true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


async def soon(true, seconds=30.0):
    """Wait for something to become true, while others go on."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never happened"
        await asyncio.sleep(0.01)
