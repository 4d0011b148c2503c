"""The process: how it starts, what it does with what is no HTTP, with slow clients and with signals, how it ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import pytest
from serving import Process, asked, one_answer, samples, started, total, until

from retainer.cli.main import main
from retainer.serve.response_headers import SECURITY_HEADERS

TEXT = "play songs by boston on the drive to paris"


@pytest.fixture(scope="module")
def server(pair):
    with started(pair["v1"], pair["v2"]) as one:
        yield one


def get(server, path):
    with urllib.request.urlopen(f"{server.address}{path}") as answer:
        return answer.read()


def status(answer):
    """The status, and the document of an answer."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), json.loads(body)


def told(answer):
    return json.loads(answer.partition(b"\r\n\r\n")[2])


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
        ],
    )
    def test_what_is_no_http_is_told_so_with_all_headers(self, server, data):
        answer = server.raw(data)
        code, told = status(answer)
        assert code == 400 and told["error"]["code"] == "invalid_http"
        for name, value in SECURITY_HEADERS.items():
            assert f"{name}: {value}".encode() in answer
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
        answer = server.raw(b"GET " + target + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        assert status(answer)[0] in (400, 404) and b"root:" not in answer

    def test_ten_megabytes_are_refused_and_the_client_hears_it(self, server):
        """The client sends everything before it reads, as most do."""
        body = b"x" * 10_000_000
        head = b"POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        for sent in (
            head + b"Content-Length: 10000000\r\n\r\n" + body,
            head + b"Transfer-Encoding: chunked\r\n\r\n" + b"989680\r\n" + body + b"\r\n0\r\n\r\n",
        ):
            code, told = status(server.raw(sent, wait=20))
            assert code == 413 and told["error"]["code"] == "body_too_large"

    def test_several_questions_on_one_connection(self, server):
        last = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        answer = server.raw(asked(TEXT) * 3 + last)
        assert answer.count(b"HTTP/1.1 200 OK") == 4 and answer.count(b'"results"') == 3

    def test_a_client_that_leaves_harms_nobody(self, server):
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall(asked([TEXT] * 50))
        until(lambda: total(samples(get(server, "/metrics").decode()), "retainer_requests_in_flight") == 0)
        code, told = status(server.raw(asked(TEXT).replace(b"Host", b"Connection: close\r\nHost", 1)))
        assert code == 200 and told["results"]


class TestSlowClients:
    """With short limits, set in the process that is started, for the defaults would take a while."""

    @pytest.fixture(scope="class")
    def impatient(self, pair):
        code = (
            "import sys, retainer.serve.settings as s; from retainer.cli.main import main\n"
            "plain = s.Limits.__init__.__defaults__\n"
            "s.Limits.__init__.__defaults__ = (*plain[:5], 0.5, 4)\n"
            "sys.exit(main(sys.argv[1:]))"
        )

        class Impatient(Process):
            command = (sys.executable, "-c", code)

        one = Impatient(pair["v1"])
        yield one
        assert one.stop() == 0
        one.process.stderr.close()

    @pytest.mark.parametrize("sent", [b"", b"GET /heal", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "])
    def test_a_head_that_does_not_come_is_not_awaited(self, impatient, sent):
        began = time.monotonic()
        assert impatient.raw(sent, wait=20) == b"" and time.monotonic() - began < 10

    def test_nor_one_that_drips_after_a_first_question(self, impatient):
        with socket.create_connection(("127.0.0.1", impatient.port), timeout=20) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert b"alive" in one_answer(connection)
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
        code, told = status(impatient.raw(asked(TEXT)[:-5], wait=20))
        assert code == 408 and told["error"]["code"] == "slow_body"

    def test_more_connections_than_there_may_be_are_told_so(self, impatient):
        idle = [socket.create_connection(("127.0.0.1", impatient.port), timeout=20) for _ in range(4)]
        try:
            answer = impatient.raw(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", wait=20)
        finally:
            for one in idle:
                one.close()
        code, told = status(answer)
        assert code == 503 and told["error"]["code"] == "busy" and b"retry-after: 1" in answer
        until(lambda: impatient.raw(b"GET /healthz HTTP/1.0\r\n\r\n", wait=20).endswith(b'{"alive":true}'))


class TestSignals:
    def test_the_end_answers_what_has_begun(self, pair):
        """Thirty questions are under way when the process is told to stop; none is lost, and it ends with status 0."""
        with started(pair["v2"]) as server:
            answers = []

            def ask():
                answers.append(server.raw(asked([f"{TEXT} {number} " * 5 for number in range(60)]), wait=60))

            threads = [threading.Thread(target=ask, daemon=True) for _ in range(30)]
            for thread in threads:
                thread.start()
            until(lambda: total(samples(get(server, "/metrics").decode()), "retainer_requests_in_flight") >= 20)
            server.process.send_signal(signal.SIGTERM)
            for thread in threads:
                thread.join()
            assert server.ended() == 0
            for answer in answers:
                code, told = status(answer)
                assert code == 200 and len(told["results"]) == 60
            assert len(answers) == 30 and "stopping" in server.lines[-1]
            late = [answer for answer in answers if b"connection: close" in answer]
            assert len(late) >= 10, "answered after the process was told to stop"
            with pytest.raises(OSError):
                socket.create_connection(("127.0.0.1", server.port), timeout=2)

    def test_a_hangup_brings_the_new_version_while_clients_ask(self, pair, tmp_path):
        link = tmp_path / "current"
        link.symlink_to(pair["v1"])
        with started(link) as server:
            over, answers = threading.Event(), []

            def ask():
                with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
                    while not over.is_set():
                        connection.sendall(asked(TEXT))
                        answers.append(one_answer(connection))

            threads = [threading.Thread(target=ask, daemon=True) for _ in range(4)]
            for thread in threads:
                thread.start()
            old = json.loads(get(server, "/v1/versions"))["versions"][0]["hash"]
            (tmp_path / "next").symlink_to(pair["v2"])
            os.replace(tmp_path / "next", link)
            server.process.send_signal(signal.SIGHUP)
            try:
                until(lambda: len(answers) > 8 and all(told(one)["version"]["hash"] != old for one in answers[-8:]))
            finally:
                over.set()
            for thread in threads:
                thread.join()
            assert {answer.split(b" ")[1] for answer in answers} == {b"200"}
            assert server.stop() == 0
            assert any(" replaces " in line for line in server.lines)


class TestStarting:
    def refused(self, capsys, *arguments):
        assert main(["serve", *map(str, arguments)]) == 2
        said = capsys.readouterr().err.strip()
        assert said.startswith("retainer: ") and "\n" not in said
        return said

    def test_a_port_that_is_taken(self, pair, capsys, server):
        assert "choose others" in self.refused(capsys, pair["v1"], "--port", server.port)

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["--max-texts", "0"], "must be above 0"),
            (["--cors", "example.org"], "is not an origin"),
            (["--watch", "-1"], "expected seconds"),
            (["--token-file", "nothing"], "nothing"),
            (["--host", "no.such.host.invalid"], "cannot listen"),
            (["--port", "70000"], "expected 0 to 65535"),
            (["--host", "a" * 70], "cannot listen"),
            (["--prot", "1"], "did you mean '--port'"),
        ],
    )
    def test_a_wrong_call_is_told_in_a_sentence(self, pair, capsys, arguments, says):
        assert says in self.refused(capsys, pair["v1"], *arguments)

    def test_without_a_version(self, capsys):
        assert "missing: models" in self.refused(capsys)

    def test_a_version_that_cannot_be_loaded(self, capsys, encoder):
        assert "teach it first" in self.refused(capsys, encoder, "--port", 0)

    @pytest.mark.parametrize("missing", ["fastapi", "uvicorn"])
    def test_without_the_extra_one_sentence_says_what_to_install(self, missing):
        code = (
            f"import sys; sys.modules[{missing!r}] = None\n"
            "import retainer, retainer.versions.version; from retainer.cli.main import main\n"
            "sys.exit(main(['serve', 'v1']))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 2 and done.stdout == ""
        assert done.stderr == f"retainer: serve needs {missing}; install it: pip install 'retainer[serve]'\n"

    def test_a_stranger_may_not_ask_unnoticed_and_ctrl_c_ends_it_quietly(self, pair):
        """Whoever binds to all addresses without a token is told what that means."""
        with started(pair["v1"], "--host", "0.0.0.0") as server:
            assert "every client that reaches 0.0.0.0 may send requests" in server.lines[0]
            server.process.send_signal(signal.SIGINT)
            assert server.ended() == 0 and "Traceback" not in "".join(server.lines)
