"""`retainer serve --workers 2` as a user starts it: real processes that are asked, swapped, killed and stopped."""

import contextlib
import json
import os
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from serving import one_response, predict_request, samples, started, total, until

TEXT = "play songs by boston on the drive to paris"
TOKEN = "a token for the workers of this test"[:20].replace(" ", "-")
PATIENCE = 120.0
"""Seconds that anything may take: the machine may be busy with something else."""


def ask(server, path, *, data=None, method="GET"):
    """The status and the document, or the text, of a response."""
    request = urllib.request.Request(f"{server.address}{path}", data=data, method=method)
    request.add_header("Authorization", f"Bearer {TOKEN}")
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            status, body = response.status, response.read()
    except urllib.error.HTTPError as error:
        status, body = error.code, error.read()
    return status, json.loads(body) if body.startswith(b"{") else body.decode()


def counted(server):
    return samples(ask(server, "/metrics")[1])


def workers_of(server):
    """The processes of the workers: the supervisor has no other children."""
    return [
        int(one) for one in Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    ]


def alive(pid):
    """Whether a process runs; one that has ended and is not yet collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def repoint(link, target):
    link.with_name("next").symlink_to(target)
    os.replace(link.with_name("next"), link)


class Crowd:
    """Clients that ask again and again, each on a connection of its own, and write down what they got and when."""

    def __init__(self, server, size=8):
        self.server, self.over = server, threading.Event()
        self.answers = []
        """Per answer: when it was asked for, when it came, its status, and the hash of the version."""
        self.lost = []
        """When a client lost its connection with a request under way."""
        self.threads = [threading.Thread(target=self.ask_on, daemon=True) for _ in range(size)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        until(lambda: len(self.answers) >= len(self.threads) or self.lost, PATIENCE)
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in self.threads), "a client never got its answer"

    def ask_on(self):
        while not self.over.is_set():
            with contextlib.suppress(OSError), self.server.connect(timeout=PATIENCE) as connection:
                self.ask_over(connection)

    def ask_over(self, connection):
        head = b"Authorization: Bearer " + TOKEN.encode() + b"\r\nHost"
        request = predict_request(TEXT).replace(b"Host", head, 1)
        while not self.over.is_set():
            asked = time.monotonic()
            try:
                connection.sendall(request)
                response = one_response(connection)
            except (OSError, TypeError, AssertionError):  # the other side has gone in the middle
                self.lost.append(time.monotonic())
                return
            head, _, body = response.partition(b"\r\n\r\n")
            status = int(head.split(b" ")[1])
            hash_ = json.loads(body)["version"]["hash"] if status == 200 else body
            self.answers.append((asked, time.monotonic(), status, hash_))
            if b"connection: close" in head.lower():
                return

    def more(self, amount):
        """Wait for so many more answers."""
        before = len(self.answers)
        until(lambda: len(self.answers) >= before + amount, PATIENCE)

    def statuses(self):
        return {status for _, _, status, _ in self.answers}


@pytest.fixture
def damaged(pair, tmp_path):
    """A version with one changed byte in its weights."""
    from shutil import copytree

    folder = tmp_path / "damaged"
    copytree(pair["v2"], folder)
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    return folder


class TestLife:
    """One pair of workers from its start to its end: to start it takes longer than all that happens to it."""

    def test_from_the_start_to_the_end(self, pair, damaged, tmp_path):
        link, token = tmp_path / "current", tmp_path / "token"
        link.symlink_to(pair["v1"])
        token.write_text(TOKEN)
        with started(link, "--workers", "2", "--token-file", token) as server:
            first = workers_of(server)
            assert len(first) == 2
            self.both_answer(server, first)
            self.all_swap_as_one(server, link, pair["v2"])
            self.all_refuse_a_damaged_version(server, link, damaged)
            self.one_that_is_killed_is_replaced(server, first[0])
            self.all_answer_before_the_end(server)
        said = "".join(server.lines)
        assert said.count("serving current on") == said.count("stopping once") == said.count(" replaces ") == 1
        assert said.count("cannot be loaded, so the old one is still served") == 1
        assert all(line.startswith(("retainer: ", "current: ")) for line in server.lines), said
        until(lambda: not any(alive(pid) for pid in first), PATIENCE)

    def both_answer(self, server, workers):
        """Clients are spread evenly: while eight ask, each worker has four of them."""
        with Crowd(server) as crowd:
            crowd.more(40)
            shares = [len(list(open_connections(pid, server.port))) for pid in workers]
        assert crowd.statuses() == {200} and not crowd.lost
        assert shares == [4, 4]
        predicted = {"route": "/v1/predict", "status": "200"}
        answered = len(crowd.answers)
        until(lambda: total(counted(server), "retainer_requests_total", **predicted) == answered, PATIENCE)
        found = counted(server)
        assert total(found, "retainer_texts_total") == answered
        assert total(found, "retainer_request_seconds_count", route="/v1/predict") == answered
        assert total(found, "retainer_workers") == 2 and total(found, "retainer_version_info") == 1

    def all_swap_as_one(self, server, link, target):
        """No answer of the old version comes after the reload has returned, nor to who asked after a new answer."""
        with Crowd(server) as crowd:
            old = crowd.answers[0][3]
            repoint(link, target)
            status, said = ask(server, "/v1/reload", data=b"", method="POST")
            returned = time.monotonic()
            crowd.more(40)
        assert (status, said) == (200, {"versions": {"current": "swapped"}})
        assert crowd.statuses() == {200} and not crowd.lost
        late = [hash_ for _, came, _, hash_ in crowd.answers if came > returned and hash_ == old]
        assert len(late) <= len([1 for asked, came, *_ in crowd.answers if asked < returned < came])
        assert not [1 for asked, _, _, hash_ in crowd.answers if asked > returned and hash_ == old]
        new = min(came for _, came, _, hash_ in crowd.answers if hash_ != old)
        assert not [1 for asked, _, _, hash_ in crowd.answers if asked > new and hash_ == old]

    def all_refuse_a_damaged_version(self, server, link, damaged):
        """All go on with the version they have, and all say that they do."""
        served = ask(server, "/readyz")[1]["versions"][0]["hash"]
        with Crowd(server) as crowd:
            repoint(link, damaged)
            status, said = ask(server, "/v1/reload", data=b"", method="POST")
            crowd.more(20)
        assert status == 409 and said["error"]["code"] == "reload_failed"
        assert {(status, hash_) for _, _, status, hash_ in crowd.answers} == {(200, served)} and not crowd.lost
        states = [ask(server, "/readyz")[1]["versions"][0] for _ in range(4)]
        assert states == [{"name": "current", "hash": served, "state": "stale"}] * 4
        found = counted(server)
        assert total(found, "retainer_version_stale") == 1 and total(found, "retainer_version_info") == 1
        assert total(found, "retainer_reloads_total", outcome="swapped") == 1
        assert total(found, "retainer_reloads_total", outcome="failed") == 1

    def one_that_is_killed_is_replaced(self, server, victim):
        """Only its clients lose a request, the new one serves what the others do, and no counter goes back."""
        before = counted(server)
        served = ask(server, "/readyz")[1]["versions"][0]["hash"]
        with Crowd(server) as crowd:
            clients = len(list(open_connections(victim, server.port)))
            os.kill(victim, signal.SIGKILL)
            until(lambda: any("answers again" in line for line in server.lines), PATIENCE)
            crowd.more(40)
            with Crowd(server) as newcomers:  # the new worker has fewest connections, so it gets them
                newcomers.more(20)
        answers = crowd.answers + newcomers.answers
        assert {(status, hash_) for _, _, status, hash_ in answers} == {(200, served)}
        # who comes back before the system has closed all that the dead worker held may be sent there once more
        assert len(crowd.lost) <= 2 * clients < 16 and not newcomers.lost
        assert victim not in workers_of(server) and len(workers_of(server)) == 2
        after = counted(server)
        for (name, labels), value in before.items():
            if name.endswith(("_total", "_count", "_sum", "_bucket")):
                assert after.get((name, labels), -1) >= value, (name, labels)
        assert total(after, "retainer_workers") == 2 and total(after, "retainer_workers_replaced_total") == 1

    def all_answer_before_the_end(self, server):
        """What was accepted at SIGTERM is answered, then the port is closed and the status is 0."""
        responses, request = [], predict_request([f"{TEXT} {number}" for number in range(100)])
        request = request.replace(b"Host", b"Authorization: Bearer " + TOKEN.encode() + b"\r\nHost", 1)

        def send():
            responses.append(server.raw(request, wait=PATIENCE))

        threads = [threading.Thread(target=send, daemon=True) for _ in range(16)]
        for thread in threads:
            thread.start()
        until(lambda: responses or total(counted(server), "retainer_requests_in_flight") >= 12, PATIENCE)
        server.process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join(PATIENCE)
        assert server.process.wait(PATIENCE) == 0 and server.ended() == 0
        for response in responses:
            head, _, body = response.partition(b"\r\n\r\n")
            assert b" 200 " in head and len(json.loads(body)["results"]) == 100
        assert len(responses) == 16
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", server.port), timeout=2)


def open_connections(pid, port):
    """The connections of a process to clients of a port."""
    ours = {line.split()[9] for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if _is_at(line, port)}
    for one in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            name = os.readlink(one)
            if name.startswith("socket:") and name[8:-1] in ours:
                yield name


def _is_at(line, port):
    local, state = line.split()[1], line.split()[3]
    return int(local.partition(":")[2], 16) == port and state == "01"


class TestDeath:
    def test_workers_end_with_a_supervisor_that_is_killed(self, pair):
        with started(pair["v1"], "--workers", "2") as server:
            workers = workers_of(server)
            server.process.kill()
            server.process.wait(PATIENCE)
            until(lambda: not any(alive(pid) for pid in workers), PATIENCE)
