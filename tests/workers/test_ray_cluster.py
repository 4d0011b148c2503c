"""Addresses without a cluster, and what Ray says about a cluster it cannot use; none of it needs Ray."""

import contextlib
import errno
import os
import socket
import threading

import pytest

from retainer.errors import InputError
from retainer.workers import ray_cluster
from retainer.workers.ray_cluster import _refusals, _there, unpacked_folder


@pytest.fixture
def listener():
    """Make a server on this machine that answers its first client with some bytes; None means silence."""
    made = []

    def listen(answer):
        made.append(server := socket.create_server(("127.0.0.1", 0)))

        def serve():
            with contextlib.suppress(OSError), server.accept()[0] as client:
                greeting = client.recv(100)
                if answer is None:
                    client.recv(100)
                elif greeting.startswith(b"PRI * HTTP/2.0"):
                    client.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        return f"127.0.0.1:{server.getsockname()[1]}"

    yield listen
    for server in made:
        server.close()


SETTINGS = bytes([0, 0, 6, 4, 0, 0, 0, 0, 0])
"""The head of a frame of settings: a length of 6, and the type 4."""


def test_a_server_that_greets_as_ray_does(listener):
    address = listener(SETTINGS)
    assert _there(address) == {"address": address}


@pytest.mark.parametrize(
    ("answer", "says"), [(b"HTTP/1.1 400 Bad Request", "no Ray"), (b"", "no Ray"), (None, "timed")]
)
def test_another_server(listener, monkeypatch, answer, says):
    monkeypatch.setattr(ray_cluster, "_SECONDS", 0.2)
    with pytest.raises(InputError, match=rf"there is no Ray cluster at 127.*{says}.*; start one: ray start --head"):
        _there(listener(answer))


def test_an_encrypted_cluster_is_believed(listener, monkeypatch):
    monkeypatch.setenv("RAY_USE_TLS", "1")
    address = listener(None)
    assert _there(address) == {"address": address}


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (RuntimeError("Version mismatch: The cluster was started with:\n Ray: 2.60.0\n"), "runs another Ray or Python"),
        (ConnectionError("Could not reach\n\nthe head"), "cannot be used: Could not reach the head"),
        (TimeoutError(), "cannot be used: TimeoutError"),
    ],
)
def test_what_ray_says_becomes_one_line(error, says):
    with pytest.raises(InputError, match=says) as refusal, _refusals("a:1"):
        raise error
    assert "\n" not in str(refusal.value) and "cluster at a:1" in str(refusal.value)


def test_a_node_whose_disk_is_full(monkeypatch):
    def refuse(path, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pathlib.Path.write_bytes", refuse)
    with pytest.raises(InputError, match="cannot be written: No space left"), unpacked_folder({"a/b": b"c"}):
        pass
