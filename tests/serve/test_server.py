"""The server at its port: bytes that are not HTTP, slow clients, signals, and how it starts and ends."""

import contextlib
import json
import os
import re
import signal
import socket
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from serving import one_response, predict_request, received, samples, served, started, total, until

import retainer
from retainer.cli.main import main
from retainer.serve import connection as connections_module
from retainer.serve import guard
from retainer.serve.error_log import LOGGERS
from retainer.serve.response_headers import SECURITY_HEADERS
from retainer.serve.server import Server
from retainer.serve.settings import LOCAL_HOSTS, Limits, Settings

TEXT = "play songs by boston on the drive to paris"
TWO_LENGTHS = (
    b"%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 5\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/versions HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
)
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
DOCS = HEALTH.replace(b"healthz", b"docs")


def get(server, path):
    with urllib.request.urlopen(f"{server.address}{path}") as response:
        return response.read()


def in_flight(server):
    return total(samples(get(server, "/metrics").decode()), "retainer_requests_in_flight")


def parsed(response):
    """The status and the document of a response."""
    head, _, body = response.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), json.loads(body)


@contextlib.contextmanager
def small_window(server):
    """A connection whose system takes no more than a few kilobytes that are not read."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(20)
        client.connect(("127.0.0.1", server.port))
        yield client


def ended(client):
    """Whether the server ends a connection before its timeout."""
    try:
        return client.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


class TestBytes:
    @pytest.mark.parametrize(
        "data",
        [
            b"GARBAGE\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100,
            b"GET / HTTP/x\r\n\r\n",
            b"GET /healthz HTTP/1.1\r\n\r\n",
            b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
            b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nBad Header: x\r\n\r\n",
            b"POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",
            b"POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
            TWO_LENGTHS % b"POST /v1/predict",
            TWO_LENGTHS % b"GET /healthz",
            TWO_LENGTHS % b"OPTIONS /v1/predict",
        ],
    )
    def test_what_is_not_http_is_answered_with_all_headers(self, server, data):
        response = server.raw(data)
        status, body = parsed(response)
        assert status == 400 and body["error"]["code"] == "invalid_http"
        for name, value in SECURITY_HEADERS.items():
            assert f"{name}: {value}".encode() in response
        assert json.loads(get(server, "/healthz")) == {"alive": True}

    @pytest.mark.parametrize(
        "target",
        [
            b"/../../etc/passwd",
            b"/%2e%2e/%2e%2e/etc/passwd",
            b"/v1/%00",
            b"/\xc3\xa9",
            b"http://evil/",
            b"*",
            b"//evil",
        ],
    )
    def test_tricks_with_paths(self, server, target):
        response = server.raw(b"GET " + target + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        assert parsed(response)[0] in (400, 404) and b"root:" not in response

    def test_ten_megabytes_are_refused_and_the_client_reads_why(self, server):
        """The client sends everything before it reads, as most do."""
        body = b"x" * 10_000_000
        head = b"POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        for sent in (
            head + b"Content-Length: 10000000\r\n\r\n" + body,
            head + b"Transfer-Encoding: chunked\r\n\r\n" + b"989680\r\n" + body + b"\r\n0\r\n\r\n",
        ):
            status, answer = parsed(server.raw(sent, wait=20))
            assert status == 413 and answer["error"]["code"] == "body_too_large"

    def test_several_requests_on_one_connection(self, server):
        last = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        responses = server.raw(predict_request(TEXT) * 3 + last)
        assert responses.count(b"HTTP/1.1 200 OK") == 4 and responses.count(b'"results"') == 3

    def test_a_client_that_leaves_does_no_harm(self, server):
        for _ in range(20):
            with server.connect() as connection:
                connection.sendall(predict_request([TEXT] * 50))
        until(lambda: in_flight(server) == 0)
        status, body = parsed(server.raw(predict_request(TEXT).replace(b"Host", b"Connection: close\r\nHost", 1)))
        assert status == 200 and body["results"]


IMPATIENT = Settings(Limits(receive_seconds=0.5, stalled_seconds=0.5), hosts=LOCAL_HOSTS)


class TestSlowClients:
    """With short limits, for the defaults would take a while."""

    @pytest.fixture(scope="class")
    def impatient(self, pair):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(guard, "LINGER_SECONDS", 0.2)
            with served(pair["v1"], settings=IMPATIENT) as running:
                yield running

    def test_a_head_that_does_not_come_is_not_awaited(self, impatient):
        began = time.monotonic()
        connections = [impatient.connect() for _ in range(3)]
        heads = (b"", b"GET /heal", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        for connection, sent in zip(connections, heads, strict=True):
            connection.sendall(sent)
        for connection in connections:
            with connection:
                assert received(connection) == b"" and time.monotonic() - began < 10

    def test_nor_one_that_drips_after_a_first_request(self, impatient):
        with impatient.connect() as connection:
            connection.sendall(HEALTH)
            assert b"alive" in one_response(connection)
            began, closed = time.monotonic(), False
            while time.monotonic() - began < 10 and not closed:
                try:
                    connection.sendall(b"G")
                    connection.settimeout(0.1)
                    closed = connection.recv(100) == b""
                except TimeoutError:
                    pass
                except OSError:
                    closed = True
            assert closed

    def test_a_body_that_does_not_come_is_not_awaited(self, impatient):
        status, body = parsed(impatient.raw(predict_request(TEXT)[:-5], wait=20))
        assert status == 408 and body["error"]["code"] == "slow_body"

    def test_an_answer_that_nobody_takes_is_given_up(self, impatient):
        """One client takes nothing, and one little by little; only the second gets all of its answers."""
        with small_window(impatient) as idle, small_window(impatient) as slow:
            idle.sendall(DOCS * 30)
            slow.sendall(DOCS * 15 + DOCS.replace(b"Host", b"Connection: close\r\nHost"))
            until(lambda: len(impatient.server.server_state.connections) == 2)
            began, parts = time.monotonic(), []
            while part := slow.recv(4096):
                parts.append(part)
                time.sleep(0.02)
            assert b"".join(parts).count(b"</html>") == 16 and time.monotonic() - began > 0.6
            until(lambda: not impatient.server.server_state.connections, seconds=5)

    def test_far_more_connections_than_allowed_get_an_end_within_a_second(self, pair, monkeypatch):
        """Two are held, two may still say what they want to be refused, and three are closed at once."""
        monkeypatch.setattr(connections_module, "REFUSED_AT_ONCE", 2)
        with served(pair["v1"], settings=Settings(Limits(connections=2), hosts=LOCAL_HOSTS)) as server:
            began, clients = time.monotonic(), [server.connect(timeout=0.8) for _ in range(7)]
            for client in clients:
                with contextlib.suppress(OSError):
                    client.sendall(b"GET /heal")
            assert [ended(client) for client in clients[4:]] == [True] * 3
            assert time.monotonic() - began < connections_module.BUSY_SECONDS
            assert [ended(client) for client in clients[2:4]] == [True] * 2 and time.monotonic() - began < 1.0
            clients[0].settimeout(0.01)
            assert not ended(clients[0])
            for client in clients:
                client.close()

    def test_a_stopping_server_does_not_wait_for_them(self, pair, monkeypatch, caplog):
        """One client reads nothing, one does not send its body, one is refused and one idle."""
        monkeypatch.setattr(connections_module, "LAST_SECONDS", 0.2)
        with served(pair["v1"]) as server, contextlib.ExitStack() as stack:
            for data in (DOCS * 30, predict_request(TEXT)[:-5], b"nonsense\r\n\r\n", HEALTH):
                stack.enter_context(small_window(server)).sendall(data)
            until(lambda: len(server.server.server_state.connections) == 4)
            time.sleep(0.1)
            began = time.monotonic()
            server.stop(force=False)
            assert not server.thread.is_alive() and time.monotonic() - began < 3
        assert [record for record in caplog.records if record.name in LOGGERS] == []

    def test_more_connections_than_allowed_are_refused(self, pair):
        with served(pair["v1"], settings=Settings(Limits(connections=4), hosts=LOCAL_HOSTS)) as server:
            idle = [server.connect() for _ in range(4)]
            try:
                response = server.raw(HEALTH, wait=20)
            finally:
                for connection in idle:
                    connection.close()
            status, body = parsed(response)
            assert status == 503 and body["error"]["code"] == "busy" and b"retry-after: 1" in response
            until(lambda: server.raw(b"GET /healthz HTTP/1.0\r\n\r\n", wait=20).endswith(b'{"alive":true}'))


class TestSignals:
    """One process as a user starts it: a new version is swapped in, then it is asked to stop."""

    @pytest.mark.long
    def test_a_hangup_brings_the_new_version_and_the_end_answers_what_was_accepted(self, pair, tmp_path):
        link = tmp_path / "current"
        link.symlink_to(pair["v1"])
        with started(link, descriptors=256) as server:
            self.use_up_descriptors(server)
            self.swap_while_clients_ask(server, link, pair["v2"])
            self.stop_while_clients_ask(server)

    def use_up_descriptors(self, server):
        """More clients than descriptors: a further one is refused at once, and the log does not grow."""
        with contextlib.ExitStack() as stack:
            server.process.send_signal(signal.SIGSTOP)  # so that all of them are there when it looks
            for _ in range(300):
                stack.enter_context(server.connect(timeout=1)).sendall(b"GET /heal")
            server.process.send_signal(signal.SIGCONT)
            refused = []

            def refusal():
                with contextlib.suppress(OSError):
                    refused.append(server.raw(HEALTH, wait=1))
                return any(b" 503 " in one for one in refused)

            until(refusal, seconds=2)
        until(lambda: b"alive" in server.raw(HEALTH.replace(b"Host", b"Connection: close\r\nHost"), wait=1), seconds=5)

    def swap_while_clients_ask(self, server, link, target):
        """No request is lost while the new version takes over."""
        over, responses = threading.Event(), []

        def ask():
            with server.connect(timeout=30) as connection:
                while not over.is_set():
                    connection.sendall(predict_request(TEXT))
                    responses.append(one_response(connection))

        threads = [threading.Thread(target=ask, daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        old = json.loads(get(server, "/v1/versions"))["versions"][0]["hash"]
        until(lambda: responses)
        link.with_name("next").symlink_to(target)
        os.replace(link.with_name("next"), link)
        server.process.send_signal(signal.SIGHUP)
        try:
            until(
                lambda: len(responses) > 8 and all(parsed(one)[1]["version"]["hash"] != old for one in responses[-8:])
            )
        finally:
            over.set()
        for thread in threads:
            thread.join()
        assert {response.split(b" ")[1] for response in responses} == {b"200"}
        assert parsed(responses[0])[1]["version"]["hash"] == old

    def stop_while_clients_ask(self, server):
        """Thirty requests are under way at SIGTERM; none is lost, and the process ends with status 0."""
        responses = []

        def ask():
            responses.append(server.raw(predict_request([f"{TEXT} {number} " * 5 for number in range(60)]), wait=60))

        threads = [threading.Thread(target=ask, daemon=True) for _ in range(30)]
        for thread in threads:
            thread.start()
        until(lambda: in_flight(server) >= 20)
        server.process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        assert server.ended() == 0
        for response in responses:
            status, body = parsed(response)
            assert status == 200 and len(body["results"]) == 60
        assert len(responses) == 30 and "stopping" in server.lines[-1]
        assert any(" replaces " in line for line in server.lines)
        assert len(server.lines) == 5 and "connections" in server.lines[2] and "256 file descriptors" in server.lines[2]
        late = [response for response in responses if b"connection: close" in response]
        assert len(late) >= 10, "answered after the process was asked to stop"
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", server.port), timeout=2)

    @pytest.mark.parametrize("path", ["predict", "compare", "versions"])
    def test_a_second_ctrl_c_tells_requests_under_way(self, pair, monkeypatch, caplog, path):
        """They get an error like any other: not a 500 without a sentence, and no silent end."""
        done, began = threading.Event(), threading.Event()

        def slow(asked):
            began.set()
            done.wait(20)
            return [[] for _ in asked]

        with served(pair["v1"]) as server:
            monkeypatch.setattr(server.registry.get().batches, "_predict", slow)
            monkeypatch.setattr("retainer.serve.routes.describe_versions", slow)
            request = predict_request(TEXT, **({"old": "v1", "new": "v1"} if path == "compare" else {}))
            if path == "versions":
                request = b"GET /v1/versions HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            with server.connect() as client:
                client.sendall(request.replace(b"/v1/predict", f"/v1/{path}".encode()))
                assert began.wait(10)
                for _ in range(2):
                    server.server.handle_exit(signal.SIGINT, None)
                response = received(client)
            done.set()
        status, body = parsed(response)
        assert (status, body["error"]["code"]) == (503, "stopping") and b"connection: close" in response
        assert [record for record in caplog.records if record.name in LOGGERS] == []

    def test_ctrl_c_ends_it_quietly_and_a_server_open_to_all_says_so(self, pair, capsys, monkeypatch):
        """Here, in this process: a server without a token at all addresses says what that means."""
        startup = Server.startup

        async def interrupted(self, sockets=None):
            await startup(self, sockets)
            os.kill(os.getpid(), signal.SIGINT)

        monkeypatch.setattr(Server, "startup", interrupted)
        hangup = signal.getsignal(signal.SIGHUP)
        try:
            status = main(["serve", str(pair["v1"]), "--host", "0.0.0.0", "--port", "0", "--device", "cpu"])
        finally:
            signal.signal(signal.SIGHUP, hangup)
        lines = capsys.readouterr().err.splitlines()
        assert status == 0 and not any("Traceback" in line for line in lines)
        assert "every client that reaches 0.0.0.0 may send requests" in lines[0] and "stopping" in lines[-1]
        assert lines[1] == f"retainer: loading {pair['v1'].name}" and "serving" in lines[2]


class TestStarting:
    def refused(self, capsys, *arguments):
        assert main(["serve", *map(str, arguments)]) == 2
        message = capsys.readouterr().err.strip()
        assert message.startswith("retainer: ") and "\n" not in message
        return message

    def test_a_port_that_is_taken(self, pair, capsys, server):
        assert "choose others" in self.refused(capsys, pair["v1"], "--port", server.port)

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["--max-texts", "0"], "must be above 0"),
            (["--cors", "example.org"], "is not an origin"),
            (["--watch", "-1"], "expected seconds"),
            (
                ["--token-file", "nothing"],
                "there is no file nothing; make one with a token of your own: (umask 077; python",
            ),
            (["--host", "no.such.host.invalid"], "cannot listen"),
            (["--port", "70000"], "expected 0 to 65535"),
            (["--host", "a" * 70], "cannot listen"),
            (["--prot", "1"], "did you mean '--port'"),
            (["--workers", "0"], "--workers 0: expected 1 to 64"),
            (["--workers", "-1"], "--workers -1: expected 1 to 64"),
            (["--workers", "1000"], "expected 1 to 64"),
            (["--workers", "two"], "--workers"),
            (["--workers", "2", "--max-requests", "1"], "each worker answers at least one request"),
            (["--workers", "2", "--label-studio"], "--label-studio runs in one process"),
        ],
    )
    def test_a_wrong_call_is_explained_in_a_sentence(self, pair, capsys, arguments, says):
        assert says in self.refused(capsys, pair["v1"], *arguments)

    def test_without_a_version(self, capsys):
        assert "missing: models" in self.refused(capsys)

    def test_a_workbench_needs_a_token(self, capsys, tmp_path):
        assert "--workbench needs --token-file" in self.refused(capsys, "--workbench", tmp_path / "project")
        assert not (tmp_path / "project").exists()

    def test_a_workbench_has_no_workers(self, capsys, tmp_path):
        (tmp_path / "token").write_text("a" * 20)
        arguments = ("--workbench", tmp_path / "project", "--token-file", tmp_path / "token", "--workers", "2")
        assert "--workbench runs in one process" in self.refused(capsys, *arguments)
        assert not (tmp_path / "project").exists()

    def test_workers_that_cannot_load_a_version(self, capsys, encoder):
        assert main(["serve", str(encoder), "--port", "0", "--workers", "2", "--device", "cpu"]) == 2
        loading, complaint = capsys.readouterr().err.splitlines()
        assert loading == f"retainer: loading {encoder.name}" and "teach it first" in complaint

    def test_a_workbench_is_a_folder(self, capsys, tmp_path):
        (tmp_path / "token").write_text("a" * 20)
        (tmp_path / "notes.txt").write_text("a note")
        arguments = ["--workbench", tmp_path / "notes.txt", "--token-file", tmp_path / "token"]
        assert "notes.txt is a file; --workbench takes a folder" in self.refused(capsys, *arguments)

    def test_a_folder_that_is_no_project(self, capsys, tmp_path):
        (tmp_path / "token").write_text("a" * 20)
        arguments = ["serve", "--workbench", str(tmp_path), "--token-file", str(tmp_path / "token"), "--port", "0"]
        assert main(arguments) == 2
        [complaint] = capsys.readouterr().err.splitlines()
        assert "has no project in it, and is not empty" in complaint, "nothing is said to be loaded"
        assert [path.name for path in tmp_path.iterdir()] == ["token"], "nothing was written"

    def test_a_version_that_cannot_be_loaded(self, capsys, encoder):
        assert main(["serve", str(encoder), "--port", "0"]) == 2
        loading, complaint = capsys.readouterr().err.splitlines()
        assert loading == f"retainer: loading {encoder.name}" and "teach it first" in complaint

    @pytest.mark.parametrize("missing", ["fastapi", "uvicorn"])
    def test_without_the_extra_one_sentence_says_what_to_install(self, missing, capsys, monkeypatch):
        monkeypatch.setitem(sys.modules, missing, None)
        assert main(["serve", "v1"]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err == f"retainer: serve needs {missing}; install it: pip install 'retainer[serve]'\n"

    def test_only_the_server_needs_the_extra(self):
        """Everything else can be imported without it."""
        source = Path(retainer.__file__).parent
        for path in set(source.rglob("*.py")) - set((source / "serve").rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            extra = re.findall(r"^ *(?:import|from) (?:fastapi|starlette|uvicorn|pydantic|h11)\b", text, re.MULTILINE)
            early = re.findall(r"^(?:import|from) retainer\.serve\b", text, re.MULTILINE)
            assert not extra and not early, path
