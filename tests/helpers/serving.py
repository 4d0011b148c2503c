"""Servers for tests: an application in this process, and a real one in another."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import asynccontextmanager, contextmanager

import httpx2

from retainer.serve.app import application
from retainer.serve.metrics import Metrics
from retainer.serve.registry import Registry
from retainer.serve.settings import Settings

HOST = "http://127.0.0.1"


@asynccontextmanager
async def serving(places, settings=None, tell=None):
    """Yield a client of an application, and the registry behind it."""
    said = []
    registry = Registry(
        {name: str(place) for name, place in places.items()}, Metrics(), tell or said.append, device="cpu"
    )
    registry.said = said
    app = application(registry, settings or Settings(), tell or said.append)
    try:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=HOST, timeout=60) as client:
            yield client, registry
    finally:
        registry.close(seconds=10)


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


class Process:
    """`retainer serve` as anybody starts it."""

    command = (sys.executable, "-m", "retainer")

    def __init__(self, *arguments):
        call = [*self.command, "serve", *map(str, arguments), "--port", "0", "--device", "cpu"]
        self.process = subprocess.Popen(
            call, stderr=subprocess.PIPE, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"}
        )
        self.lines = []
        while True:
            line = self.process.stderr.readline()
            self.lines.append(line)
            found = re.search(r"on (http://[\d.]+:(\d+)),", line)
            if found or not line:
                break
        assert found, "".join(self.lines)
        self.address, self.port = found[1], int(found[2])

    def stop(self):
        """Ask it to stop, and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def ended(self):
        """Wait for the end, and return the exit status."""
        self.lines += self.process.communicate(timeout=60)[1].splitlines(keepends=True)
        return self.process.returncode

    def raw(self, data, *, wait=5.0):
        """Send bytes that need not be HTTP, and return all bytes that come back before the connection ends."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as connection:
            connection.sendall(data)
            return received(connection)


def received(connection):
    """Read until the other side closes, or says nothing for too long."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except TimeoutError:
        parts.append(b"(it was left open)")
    return b"".join(parts)


def one_answer(connection):
    """Read one answer of a connection that stays open."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536) or b"\r\n\r\n(closed)"
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(re.search(rb"content-length: (\d+)", head)[1])
    while len(body) < length:
        part = connection.recv(65536)
        assert part, "closed in the middle of an answer"
        body += part
    return head + b"\r\n\r\n" + body


@contextmanager
def started(*arguments):
    """Start a server, and end it whatever happens."""
    server = Process(*arguments)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()
        server.process.stderr.close()


def asked(text, **more):
    """The bytes of a question."""
    body = json.dumps({"texts": text, **more}).encode()
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
