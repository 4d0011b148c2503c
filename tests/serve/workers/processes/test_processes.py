"""`retainer serve --workers 2` as a user starts it: real processes that are asked, swapped, killed and stopped."""

import contextlib
import json
import os
import select
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
MANY = [f"{TEXT} {number}" for number in range(100)]
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

    def __init__(self, server, size=8, texts=TEXT):
        self.server, self.over = server, threading.Event()
        self.request = with_token(predict_request(texts))
        self.answers = []
        """Per answer: when it was asked for, when it came, its status, and the hash of the version."""
        self.lost = []
        """The clients that lost a connection with a request under way, once per connection."""
        self.ports = {}
        """Per client that has had an answer: the port of its latest connection."""
        self.reading = threading.Lock()
        self.under_way = {}
        """Per connection whose answer is not read yet: when it was asked for."""
        self.threads = [threading.Thread(target=self.ask_on, args=[number], daemon=True) for number in range(size)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        until(lambda: len(self.ports) == len(self.threads) or self.lost, PATIENCE)
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in self.threads), "a client never got its answer"

    def ask_on(self, client):
        while not self.over.is_set():
            with contextlib.suppress(OSError), self.server.connect(timeout=PATIENCE) as connection:
                self.ask_over(connection, client)

    def ask_over(self, connection, client):
        while not self.over.is_set():
            asked = time.monotonic()
            try:
                response = self.answered(connection, asked)
            except (OSError, TypeError, AssertionError):  # the other side has gone in the middle
                self.lost.append(client)
                return
            head, _, body = response.partition(b"\r\n\r\n")
            status = int(head.split(b" ")[1])
            hash_ = json.loads(body)["version"]["hash"] if status == 200 else body
            self.answers.append((asked, time.monotonic(), status, hash_))
            self.ports[client] = connection.getsockname()[1]
            if b"connection: close" in head.lower():
                return

    def answered(self, connection, asked):
        """Send a request and return its answer, which is read only while nobody asks which have come."""
        with self.reading:
            self.under_way[connection] = asked
        try:
            connection.sendall(self.request)
            select.select([connection], [], [], PATIENCE)
            with self.reading:
                return one_response(connection)
        finally:
            with self.reading:
                del self.under_way[connection]

    def unsent(self):
        """When those requests were asked whose answers the server has not sent yet, whatever clients have read."""
        with self.reading:
            sent, _, _ = select.select(list(self.under_way), [], [], 0)
            return {asked for connection, asked in self.under_way.items() if connection not in sent}

    def clients_of(self, pid):
        """The clients that a worker answers."""
        ports = set(client_ports(pid, self.server.port))
        return {client for client, port in self.ports.items() if port in ports}

    def more(self, amount):
        """Wait for so many more answers."""
        before = len(self.answers)
        until(lambda: len(self.answers) >= before + amount, PATIENCE)

    def statuses(self):
        return {status for _, _, status, _ in self.answers}

    def hashes(self, since=0.0):
        """The versions that answered what was asked after a moment."""
        return {hash_ for asked, _, _, hash_ in self.answers if asked > since}


def with_token(request):
    return request.replace(b"Host", b"Authorization: Bearer " + TOKEN.encode() + b"\r\nHost", 1)


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
            self.all_swap_on_a_signal(server, link, pair["v1"])
            self.one_that_is_killed_is_replaced(server, *first)
            self.all_answer_before_the_end(server)
        said = "".join(server.lines)
        assert said.count("serving current on") == said.count("stopping once") == 1
        assert said.count(" replaces ") == 2
        assert said.count("cannot be loaded, so the old one is still served") == 1
        assert all(line.startswith(("retainer: ", "current: ")) for line in server.lines), said
        until(lambda: not any(alive(pid) for pid in first), PATIENCE)

    def both_answer(self, server, workers):
        """Clients are spread evenly: while eight ask, each worker has four of them."""
        with Crowd(server) as crowd:
            crowd.more(40)
            shares = [len(list(client_ports(pid, server.port))) for pid in workers]
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
        """No answer of the old version begins or is sent after the reload has returned, nor after a new answer.

        The requests are long, so that some are being answered whenever the workers swap.
        """
        with Crowd(server, texts=MANY[:40]) as crowd:
            old = crowd.answers[0][3]
            repoint(link, target)
            status, said = ask(server, "/v1/reload", data=b"", method="POST")
            unsent, returned = crowd.unsent(), time.monotonic()
            crowd.more(16)
        assert (status, said) == (200, {"versions": {"current": "swapped"}})
        assert crowd.statuses() == {200} and not crowd.lost
        assert not [1 for asked, _, _, hash_ in crowd.answers if asked in unsent and hash_ == old]
        assert len(crowd.hashes()) == 2 and old not in crowd.hashes(since=returned)
        new = min(came for _, came, _, hash_ in crowd.answers if hash_ != old)
        assert old not in crowd.hashes(since=new)

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

    def all_swap_on_a_signal(self, server, link, target):
        """A version that can be loaded ends what the damaged one began."""
        all_swap_without_a_request(server, link, target, lambda: server.process.send_signal(signal.SIGHUP))
        states = [ask(server, "/readyz")[1]["versions"][0]["state"] for _ in range(4)]
        assert states == ["ready"] * 4
        assert total(counted(server), "retainer_reloads_total", outcome="swapped") == 2

    def one_that_is_killed_is_replaced(self, server, victim, other):
        """Only its clients lose a request, the new one serves what the others do, and no counter goes back."""
        before = counted(server)
        served = ask(server, "/readyz")[1]["versions"][0]["hash"]
        with Crowd(server) as crowd:
            its, others = crowd.clients_of(victim), crowd.clients_of(other)
            os.kill(victim, signal.SIGKILL)
            until(lambda: any("answers again" in line for line in server.lines), PATIENCE)
            crowd.more(40)
            with Crowd(server) as newcomers:  # the new worker has fewest connections, so it gets them
                newcomers.more(20)
        answers = crowd.answers + newcomers.answers
        assert {(status, hash_) for _, _, status, hash_ in answers} == {(200, served)}
        assert its and others and its | others == set(crowd.ports)
        assert set(crowd.lost) == its and not newcomers.lost
        # who comes back before the system has closed all that the dead worker held may be sent there once more
        assert all(crowd.lost.count(client) <= 2 for client in its)
        assert victim not in workers_of(server) and len(workers_of(server)) == 2
        after = counted(server)
        for (name, labels), value in before.items():
            if name.endswith(("_total", "_count", "_sum", "_bucket")):
                assert after.get((name, labels), -1) >= value, (name, labels)
        assert total(after, "retainer_workers") == 2 and total(after, "retainer_workers_replaced_total") == 1

    def all_answer_before_the_end(self, server):
        """What was accepted at SIGTERM is answered, then the port is closed and the status is 0."""
        responses, request = [], with_token(predict_request(MANY))

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


def all_swap_without_a_request(server, link, target, trigger):
    """Change the version, and let something else than a request trigger the reload: the log says when all have it."""

    def swaps():
        return sum(" replaces " in line for line in server.lines)

    before = swaps()
    with Crowd(server) as crowd:
        old = crowd.hashes()
        repoint(link, target)
        trigger()
        until(lambda: swaps() > before, PATIENCE)
        swapped = time.monotonic()
        crowd.more(40)
    assert crowd.statuses() == {200} and not crowd.lost and len(old) == 1
    assert len(crowd.hashes(since=swapped)) == 1 and not crowd.hashes(since=swapped) & old


def client_ports(pid, port):
    """The ports of the clients whose connections a process holds."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    clients = {row[9]: _port(row[2]) for row in rows if _port(row[1]) == port and row[3] == OPEN}
    for one in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            name = os.readlink(one)
            if name.startswith("socket:") and name[8:-1] in clients:
                yield clients[name[8:-1]]


OPEN = "01"
"""The state of a connection that is established, as the system writes it."""


def _port(address):
    return int(address.partition(":")[2], 16)


class TestDeath:
    def test_a_watch_reaches_all_and_workers_end_with_a_supervisor_that_is_killed(self, pair, tmp_path):
        link = tmp_path / "current"
        link.symlink_to(pair["v1"])
        with started(link, "--workers", "2", "--watch", "0.2") as server:
            workers = workers_of(server)
            all_swap_without_a_request(server, link, pair["v2"], lambda: None)
            server.process.kill()
            server.process.wait(PATIENCE)
            until(lambda: not any(alive(pid) for pid in workers), PATIENCE)
