"""Attacks on a server over HTTP: each must end the way docs/serve.md says, and others must be answered meanwhile.

    python benchmarks/attack_http.py [--quick] [--model FOLDER]

The server is `retainer serve` as anybody would start it, in a process that may open 1,024 files, on a tiny model made
on the spot or on FOLDER. Prints a line per attack and exits with 1 if one has another end than expected. --quick takes
less than a minute: it lets the attacks that wait for a time limit run side by side, with fewer clients. Linux only.
"""

import argparse
import gzip
import json
import re
import resource
import select
import signal
import socket
import string
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

DESCRIPTORS = 1024
"""What `ulimit -n` says in the server's process."""
SOON = 1.0
"""Seconds in which a client must get an answer or an end."""
LIMIT, SLACK = 10.0, 3.0
"""The time limits of the server, and what a busy machine may add."""
STOP_SECONDS = 12.0
"""In which the server ends: it waits two seconds for clients, once it has worked off what they asked for before."""
HOST = "Host: 127.0.0.1"
HALF_A_HEAD = f"GET /healthz HTTP/1.1\r\n{HOST}\r\nX: ".encode()


def make_model(folder: Path) -> None:
    """Make a model that finds nonsense, in no time: it is the server that is tested."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForTokenClassification, PreTrainedTokenizerFast

    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    letters = [*string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase)]
    vocabulary = {piece: number for number, piece in enumerate([*special.values(), *letters])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [(piece, vocabulary[piece]) for piece in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **special).save_pretrained(folder)
    torch.manual_seed(0)
    names = dict(enumerate(("O", "B-city", "I-city")))
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        id2label=names,
        label2id={name: number for number, name in names.items()},
    )
    BertForTokenClassification(config).save_pretrained(folder)


class Server:
    """`retainer serve` in a process of its own."""

    def __init__(self, model: Path, *options: str) -> None:
        """Start it and wait for its address."""
        call = [sys.executable, "-m", "retainer", "serve", str(model), "--port", "0", "--device", "cpu", *options]
        limited = ["sh", "-c", f'ulimit -n {DESCRIPTORS} && exec "$@"', "sh", *call]
        self.process = subprocess.Popen(limited, stderr=subprocess.PIPE, text=True)
        self.lines: list[str] = []
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()
        end = time.monotonic() + 120
        while not (found := re.search(r"on http://[\d.]+:(\d+),", "".join(self.lines))):
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"the server did not start: {''.join(self.lines)}")
            time.sleep(0.05)
        self.port = int(found[1])

    def _read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.lines.append(line)

    def held(self, clients: list[socket.socket]) -> dict[int, int]:
        """Return the clients' ports whose connections its process has not closed, and the bytes that wait for each."""
        ports = {client.getsockname()[1] for client in clients}
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return {
            port: int(row[4].partition(":")[0], 16)
            for row in rows
            if _port(row[1]) == self.port and (port := _port(row[2])) in ports and row[9] != "0"
        }

    def connect(self, window: int = 0) -> socket.socket:
        """Connect; with a small window the system of the client takes little that the client does not read."""
        client = socket.socket()
        if window:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        client.settimeout(30)
        client.connect(("127.0.0.1", self.port))
        return client

    def send(self, data: bytes) -> bytes:
        """Send bytes and return all that come back until the connection ends; a reset is an end as well."""
        with self.connect() as client:
            parts = []
            with suppress(OSError):
                client.sendall(data)
            with suppress(OSError):
                while part := client.recv(65536):
                    parts.append(part)
        return b"".join(parts)

    def probe(self) -> str:
        """Ask as an honest client does, and return the status, or "closed"."""
        return statuses(self.send(request("GET", "/healthz"))) or "closed"

    @contextmanager
    def ended(self) -> Iterator[None]:
        """End it after all, whatever happens before."""
        try:
            yield
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()

    def end(self) -> tuple[int, float]:
        """Ask it to stop, and return its exit status and how long that took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self._reader.join(5)
        return status, time.monotonic() - began


def _port(address: str) -> int:
    """Return the port of an address of /proc/net/tcp."""
    return int(address.rpartition(":")[2], 16)


def request(method: str, path: str, body: bytes = b"", *headers: str, kind: str = "application/json") -> bytes:
    """Return the bytes of a request that is the last one of its connection."""
    own = {line.partition(":")[0].lower() for line in headers}
    lines = [f"{method} {path} HTTP/1.1", "Connection: close", *headers]
    lines += [] if "host" in own else [HOST]
    if body:
        lines += [f"Content-Type: {kind}"]
        lines += [] if own & {"content-length", "transfer-encoding"} else [f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def predict(document: object) -> bytes:
    """Return a request to predict."""
    return request("POST", "/v1/predict", json.dumps(document, separators=(",", ":")).encode())


def statuses(answer: bytes) -> str:
    """Return the statuses of all responses in some bytes."""
    return ", ".join(found.decode() for found in re.findall(rb"HTTP/1\.1 (\d{3})", answer))


@contextmanager
def crowd(server: Server, count: int, data: bytes, window: int = 0) -> Iterator[list[socket.socket]]:
    """Let many clients connect and send the same bytes."""
    with ExitStack() as stack:
        clients = []
        for _ in range(count):
            clients.append(stack.enter_context(server.connect(window)))
            with suppress(OSError):  # closed already
                clients[-1].sendall(data)
        yield clients


def left_open(clients: list[socket.socket], seconds: float) -> int:
    """Wait, at most so long, for the server to end connections, and return how many it has not."""
    waiting = {client.fileno() for client in clients}
    poll, end = select.poll(), time.monotonic() + seconds
    for number in waiting:
        poll.register(number, select.POLLIN | select.POLLRDHUP)
    while waiting and time.monotonic() < end:
        for number, _ in poll.poll(100):
            poll.unregister(number)
            waiting.discard(number)
    return len(waiting)


@dataclass
class Sizes:
    """How many clients take part."""

    few: int
    many: int


Attack = Callable[[Server, Sizes], tuple[bool, str]]
"""Returns whether the end is the expected one, and what it was."""


def slow_head(server: Server, sizes: Sizes) -> tuple[bool, str]:
    """Send a head byte by byte."""
    with crowd(server, sizes.few, HALF_A_HEAD) as clients:
        end = time.monotonic() + LIMIT + SLACK
        while time.monotonic() < end and (still := left_open(clients, 0.5)):
            for client in clients:
                with suppress(OSError):
                    client.send(b"y")
    return not still, f"{still} of {sizes.few} left open"


def half_open(server: Server, sizes: Sizes) -> tuple[bool, str]:
    """Connect and send nothing."""
    with crowd(server, sizes.few, b"") as clients:
        still = left_open(clients, LIMIT + SLACK)
    return not still, f"{still} of {sizes.few} left open"


def slow_body(server: Server, sizes: Sizes) -> tuple[bool, str]:
    """Declare a body and send a byte of it every second."""
    with server.connect() as client:
        client.sendall(request("POST", "/v1/predict", b" ", "Content-Length: 1000"))
        for _ in range(int(LIMIT + SLACK)):
            if not left_open([client], 1.0):
                break
            with suppress(OSError):
                client.send(b" ")
        client.settimeout(SLACK)
        with suppress(OSError):
            seen = statuses(client.recv(65536))
            return seen == "408", seen
    return False, "left open"


def unread(server: Server, clients: list[socket.socket]) -> int:
    """Wait until the server has closed the connections of clients that read nothing; return how many it will not.

    Time counts from the last byte that it sent to a client: a busy server takes longer until a client's buffer is full.
    """
    waiting, since = dict[int, int](), dict[int, float]()
    while held := server.held(clients):
        now = time.monotonic()
        since = {port: now if waiting.get(port) != held[port] else since[port] for port in held}
        if late := [port for port, moment in since.items() if now - moment > 2 * LIMIT + SLACK]:
            return len(late)
        waiting = held
        time.sleep(0.2)
    return 0


def slow_reader(server: Server, sizes: Sizes) -> tuple[bool, str]:
    """Ask for pages and read none. The end cannot be seen by the clients, so the system is asked."""
    asked = request("GET", "/docs").replace(b"Connection: close\r\n", b"") * 50
    with crowd(server, sizes.many, asked, window=4096) as clients:
        still = unread(server, clients)
    return not still, f"{still} of {sizes.many} left open"


def descriptors(server: Server, sizes: Sizes) -> tuple[bool, str]:
    """Open more connections than the server has descriptors, and look whether others get an answer or an end."""
    before, seen, slowest = len(server.lines), Counter[str](), 0.0
    with crowd(server, DESCRIPTORS + 76, HALF_A_HEAD) as clients:
        end = time.monotonic() + LIMIT + SLACK
        while time.monotonic() < end and "200" not in seen:
            began = time.monotonic()
            seen[server.probe()] += 1
            slowest = max(slowest, time.monotonic() - began)
            time.sleep(0.3)
        still = left_open(clients, SLACK)
    lines = len(server.lines) - before
    well = slowest < SOON and not still and lines < 10 and {"200", "503"} <= set(seen) <= {"200", "503", "closed"}
    answers = ", ".join(f"{count} x {what}" for what, count in sorted(seen.items()))
    return well, f"{answers}, slowest {slowest:.2f} s, {still} left open, {lines} lines of log"


def answered(expected: str, *requests: bytes, seconds: float = 3.0) -> Attack:
    """Return an attack of requests, each of which must get one answer with this status, soon and without files."""

    def run(server: Server, sizes: Sizes) -> tuple[bool, str]:
        seen, slowest, leaked = Counter[str](), 0.0, False
        for data in requests:
            began = time.monotonic()
            answer = server.send(data)
            slowest = max(slowest, time.monotonic() - began)
            seen[statuses(answer) or "closed"] += 1
            leaked |= b"root:" in answer or b"access-control-allow-origin" in answer or len(answer) > 4000
        told = ", ".join(f"{count} x {what}" for what, count in sorted(seen.items()))
        well = all(re.fullmatch(expected, what) for what in seen) and slowest < seconds and not leaked
        return well, told + (f", slowest {slowest:.1f} s" if slowest >= seconds else "") + (
            ", leaked" if leaked else ""
        )

    return run


def stop(server: Server, sizes: Sizes) -> tuple[bool, str]:
    """Ask it to stop while clients neither send nor read; nothing is left to probe after that."""
    asked = request("GET", "/docs").replace(b"Connection: close\r\n", b"") * 50
    body = request("POST", "/v1/predict", b" ", "Content-Length: 1000")
    with crowd(server, sizes.many, asked, window=4096), crowd(server, sizes.few, body), crowd(server, sizes.few, b""):
        time.sleep(0.5)
        status, seconds = server.end()
    traces = sum("Traceback" in line or "rror" in line for line in server.lines)
    return (
        status == 0 and seconds < STOP_SECONDS and not traces,
        f"status {status} after {seconds:.1f} s, {traces} errors logged",
    )


CHUNKED = b"5\r\nhello\r\n0\r\n\r\n" + request("GET", "/v1/versions")
TEN_MEGABYTES = b"x" * 10_000_000
BOMB = gzip.compress(bytes(10_000_000))
WAITING: dict[str, tuple[str, Attack]] = {
    "slow head": (f"closed after {LIMIT:g} s", slow_head),
    "half-open connections": (f"closed after {LIMIT:g} s", half_open),
    "slow body": (f"408 after {LIMIT:g} s", slow_body),
    "slow reader": (f"closed after {LIMIT:g} s", slow_reader),
}
"""Attacks that end by a time limit: name, what is expected, and what to do."""
QUICK: dict[str, tuple[str, Attack]] = {
    "oversized body": (
        "413",
        answered(
            "413",
            request("POST", "/v1/predict", TEN_MEGABYTES),
            request("POST", "/v1/predict", b"989680\r\n%s\r\n0\r\n\r\n" % TEN_MEGABYTES, "Transfer-Encoding: chunked"),
            seconds=10,
        ),
    ),
    "oversized head": ("400", answered("400", request("GET", "/healthz", b"", f"X: {'y' * 200_000}"))),
    "nested JSON": (
        "400 or 422",
        answered(
            "400|422",
            request("POST", "/v1/predict", b"[" * 500_000),
            predict({"texts": json.loads("[" * 500 + "]" * 500)}),
        ),
    ),
    "JSON in UTF-16": ("400", answered("400", request("POST", "/v1/predict", '{"texts": "a"}'.encode("utf-16")))),
    "many mistakes in one body": (
        "422",
        answered(
            "422",
            predict({"texts": [1] * 300_000}),
            predict({"texts": "a", "types": [1] * 300_000}),
            predict({"texts": "a", "types": ["city"] * 140_000}),
            predict({"texts": "a", "threshold": {str(number): "x" for number in range(80_000)}}),
            predict({"texts": "a", **{str(number): 1 for number in range(90_000)}}),
            predict({"texts": "a", "\U0001f600" * 80_000: 1}),
        ),
    ),
    "gzip bomb": (
        "400 or 415",
        answered(
            "400|415",
            request("POST", "/v1/predict", BOMB, "Content-Encoding: gzip"),
            request("POST", "/v1/predict", BOMB, kind="application/gzip"),
        ),
    ),
    "smuggling": (
        "one 400",
        answered(
            "400",
            request("POST", "/v1/predict", CHUNKED, "Content-Length: 5", "Transfer-Encoding: chunked"),
            request("POST", "/v1/predict", CHUNKED, "Transfer-Encoding: chunked", "Content-Length: 5"),
            request("GET", "/healthz", CHUNKED, "Content-Length: 5", "Transfer-Encoding: chunked"),
            request("POST", "/v1/predict", CHUNKED, "Content-Length: 5", "Content-Length: 6"),
            request("POST", "/v1/predict", CHUNKED, "Transfer-Encoding : chunked"),
        ),
    ),
    "smuggling by an unknown encoding": (
        "one 400 or 501",
        answered("400|501", request("POST", "/v1/predict", CHUNKED, "Transfer-Encoding: xchunked")),
    ),
    "wrong Host": (
        "421",
        answered(
            "421", *(request("GET", "/v1/versions", b"", f"Host: {name}") for name in ("evil.example", "127.0.0.1.x"))
        ),
    ),
    "cross-site": (
        "415",
        answered(
            "415",
            *(
                request("POST", "/v1/predict", b'{"texts": "a"}', "Origin: https://evil.example", kind=kind)
                for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data")
            ),
        ),
    ),
    "cross-site preflight": (
        "not allowed",
        answered(
            "4..",
            request(
                "OPTIONS", "/v1/predict", b"", "Origin: https://evil.example", "Access-Control-Request-Method: POST"
            ),
        ),
    ),
    "path traversal": (
        "400 or 404",
        answered(
            "400|404",
            *(
                request("GET", path)
                for path in (
                    "/../../../../etc/passwd",
                    "/page/../../../../../etc/passwd",
                    "/page/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
                    "/page/..%2f..%2f..%2fetc%2fpasswd",
                    "/page/%00",
                    "//etc/passwd",
                    "/page/..\\..\\etc\\passwd",
                )
            ),
        ),
    ),
}
"""Attacks that are answered at once."""


@dataclass(frozen=True)
class Row:
    """What came of an attack."""

    name: str
    expected: str
    well: bool
    seen: str
    seconds: float

    def __str__(self) -> str:
        """Return a line of the table."""
        return f"{'' if self.well else 'FAILED: '}{self.name} | {self.expected} | {self.seen} | {self.seconds:.1f}"


def attacked(server: Server, name: str, expected: str, attack: Attack, sizes: Sizes) -> Row:
    """Attack, and ask as an honest client afterwards."""
    began = time.monotonic()
    try:
        well, seen = attack(server, sizes)
    except OSError as error:
        well, seen = False, f"the attack failed: {error}"
    seconds = time.monotonic() - began
    if attack is not stop and (after := server.probe()) != "200":
        well, seen = False, f"{seen}; afterwards /healthz: {after}"
    return Row(name, expected, well, seen, seconds)


def attacks(server: Server, quick: bool) -> Iterator[Row]:
    """Attack in all ways, one after the other or, where only a time limit is waited for, side by side."""
    sizes = Sizes(20, 150) if quick else Sizes(100, 800)
    with ThreadPoolExecutor(len(WAITING) if quick else 1) as pool:
        yield from pool.map(lambda name: attacked(server, name, *WAITING[name], sizes), WAITING)
    for name, (expected, attack) in QUICK.items():
        yield attacked(server, name, expected, attack, sizes)
    yield attacked(server, "descriptors used up", f"answer or end in {SOON:g} s", descriptors, sizes)
    yield attacked(server, "SIGTERM among them", f"status 0 in {STOP_SECONDS:g} s", stop, sizes)


def allow_descriptors() -> None:
    """Let this process open as many connections as the clients of all attacks need."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < 2 * DESCRIPTORS:
        raise SystemExit(f"the clients need {2 * DESCRIPTORS} file descriptors, and may open {hard}: raise ulimit -Hn")
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * DESCRIPTORS, hard))


def print_rows(rows: Iterable[Row]) -> int:
    """Print a table of attacks while they are made; return the exit status."""
    print("attack | expected | seen | seconds", "--- | --- | --- | ---", sep="\n", flush=True)
    failed = 0
    for row in rows:
        print(row, flush=True)
        failed += not row.well
    print(f"{failed} attacks failed to be stopped" if failed else "all attacks were stopped")
    return 1 if failed else 0


def main() -> int:
    """Start a server, attack it, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="less than a minute")
    parser.add_argument("--model", help="the folder of a version (default: a tiny model made on the spot)")
    options = parser.parse_args()
    allow_descriptors()
    with tempfile.TemporaryDirectory() as place:
        model = Path(options.model or place)
        if not options.model:
            make_model(model)
        server = Server(model)
        with server.ended():
            return print_rows(attacks(server, options.quick))


if __name__ == "__main__":
    sys.exit(main())
