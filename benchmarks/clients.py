"""Many clients of a server in one light process: each asks, waits for the answer, and asks again.

    python benchmarks/clients.py ADDRESS TEXTS --clients 64 --seconds 60

Prints one JSON document: answers, what went wrong, latencies in seconds, and which versions answered when. It speaks
HTTP by hand and imports nothing heavy, because it runs on the cores it measures.
"""

import argparse
import asyncio
import itertools
import json
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit


class Crowd:
    """What all clients share: the questions, the end, and the books."""

    def __init__(self, address: str, texts: list[str], options: argparse.Namespace) -> None:
        """Write all questions before the clock runs."""
        self.questions = itertools.cycle([question(address, text, options) for text in texts])
        self.end = time.perf_counter() + options.seconds
        self.began = time.perf_counter()
        self.latencies: list[float] = []
        self.statuses: Counter[int] = Counter()
        self.versions: dict[str, list[float]] = {}
        self.lost = 0
        self.open = 0
        self.done = asyncio.get_running_loop().create_future()

    def answered(self, status: int, body: bytes, seconds: float) -> None:
        """Write down an answer."""
        self.statuses[status] += 1
        if status == 200:
            self.latencies.append(seconds)
            hash_ = body[: body.find(b"results")].rpartition(b'"hash":"')[2][:12].decode()
            now = time.perf_counter() - self.began
            self.versions.setdefault(hash_, [now, now, 0])[1] = now
            self.versions[hash_][2] += 1

    def left(self, waiting: bool) -> None:
        """Write down that a client has ended, and perhaps without its answer."""
        self.lost += waiting
        self.open -= 1
        if not self.open and not self.done.done():
            self.done.set_result(None)


def question(address: str, text: str, options: argparse.Namespace) -> bytes:
    """Return the bytes of a request."""
    body = json.dumps({"texts": text} | ({"version": options.version} if options.version else {})).encode()
    head = f"POST /v1/predict HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer {options.token}\r\n" if options.token else ""
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class Client(asyncio.Protocol):
    """One client on one connection."""

    def __init__(self, crowd: Crowd) -> None:
        """Join the others."""
        self.crowd, self.buffer, self.waiting = crowd, b"", False
        crowd.open += 1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask the first question."""
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        """Ask the next question, unless time is up."""
        if time.perf_counter() >= self.crowd.end:
            self.transport.close()
            return
        self.waiting, self.sent = True, time.perf_counter()
        self.transport.write(next(self.crowd.questions))  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        """Read until the answer is whole."""
        self.buffer += data
        head, there, body = self.buffer.partition(b"\r\n\r\n")
        if not there:
            return
        lower = head.lower()
        length = int(lower.partition(b"content-length:")[2].split(b"\r\n")[0])
        if len(body) < length:
            return
        self.buffer, self.waiting = body[length:], False
        self.crowd.answered(int(head.split(b" ", 2)[1]), body[:length], time.perf_counter() - self.sent)
        if b"connection: close" in lower:
            self.transport.close()
        else:
            self.ask()

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave."""
        self.crowd.left(self.waiting)


async def ask(address: str, texts: list[str], options: argparse.Namespace) -> dict[str, object]:
    """Let the clients loose and return what they met."""
    host, port = str(urlsplit(address).hostname), int(urlsplit(address).port or 80)
    crowd = Crowd(address, texts, options)
    loop = asyncio.get_running_loop()
    await asyncio.gather(*(loop.create_connection(lambda: Client(crowd), host, port) for _ in range(options.clients)))
    await crowd.done
    took = time.perf_counter() - crowd.began
    ranked = sorted(crowd.latencies)
    return {
        "clients": options.clients,
        "seconds": took,
        "answers": len(ranked),
        "statuses": {str(status): count for status, count in sorted(crowd.statuses.items())},
        "errors": sum(count for status, count in crowd.statuses.items() if status != 200),
        "lost": crowd.lost,
        "client_cpu_seconds": time.process_time(),
        "per_second": len(ranked) / took,
        "latency": {
            name: ranked[min(int(len(ranked) * share), len(ranked) - 1)] if ranked else None
            for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))
        },
        "versions": {
            hash_: {"first": first, "last": last, "answers": int(count)}
            for hash_, (first, last, count) in crowd.versions.items()
        },
    }


def main() -> None:
    """Ask and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("texts", help="a file with one text per line")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--version")
    parser.add_argument("--token", help="for a server with --token-file")
    options = parser.parse_args()
    texts = Path(options.texts).read_text(encoding="utf-8").splitlines()
    found = asyncio.run(ask(options.address, texts, options))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
