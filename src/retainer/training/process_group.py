"""The processes torchrun has started, joined to one run: how they meet, and how they end together.

Whatever ends one of them ends all, and one sentence says why. The first process says it if it can. Another one that
fails leaves its reason in the store of torchrun, which outlives every process, and closes its connections; the first
process notices at its next exchange. torchrun sends SIGTERM to all once one has ended; by then each may be busy
with its last words and with keeping its state, so the signal ends only a process that is not ending yet.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
from torch import distributed
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from retainer.errors import InputError, LostProcess, SaidElsewhere, shortened
from retainer.runtime import Launch, launch
from retainer.training.ranks import ALONE, Ranks, SeveralRanks

PATIENCE = timedelta(hours=1)
"""How long a process waits for another that is still there: the first one measures both versions while others wait."""
LAST_WORDS = timedelta(seconds=5)
"""How long a process waits for the first to say why the run ends, before it says so itself."""
OWN_WORDS = timedelta(seconds=20)
"""The same where it fails by itself: the first one probably fails too, and may be writing its last good epoch."""

GO_ON = "run the same command again to continue from what was kept"
_STATUS: dict[type[BaseException], int] = {InputError: 2, KeyboardInterrupt: 130}
_OTHER = 3


@dataclass
class _Group:
    """The connections of this process to the others."""

    place: Launch
    store: Any
    ending: bool = False

    @property
    def ranks(self) -> Ranks:
        """What training sees of it."""
        return SeveralRanks(self.place.rank, self.place.size, self)

    def lost(self, error: RuntimeError) -> BaseException:
        """Say why another process cannot be reached: by its own words, if it left some."""
        self.ending = True
        self._mark_first()
        if self.place.rank == 0 and (said := self._reason()) is not None:
            return said
        late = f" or has not answered for {PATIENCE}" if "imed out" in str(error) else ""
        return LostProcess(f"another of the {self.place.size} processes has ended{late}, and so does this run; {GO_ON}")

    def told_to_end(self, *_: object) -> None:
        """Answer SIGTERM."""
        if not self.ending:
            self.ending = True
            self._mark_first()
            raise LostProcess(f"ended by SIGTERM, which torchrun sends when another process has ended; {GO_ON}")

    def finish(self) -> None:
        """Wait for the others after all is done; what breaks now breaks nothing."""
        self.ending = True
        self._mark_first()
        with contextlib.suppress(RuntimeError):
            distributed.barrier()
        self._close()

    def fail(self, error: BaseException) -> BaseException:
        """Leave the run because of an error, and return what this process should raise."""
        self.ending = True
        if self.place.rank == 0:
            self._mark_first()
            self._close(error)
            return error
        status = next((number for kind, number in _STATUS.items() if isinstance(error, kind)), _OTHER)
        text = str(error) if isinstance(error, InputError) else shortened(f"{type(error).__name__}: {error}", 500)
        if not isinstance(error, LostProcess):
            self._write(f"reason-{self.place.rank}", json.dumps({"status": status, "text": text}))
        self._close(error)
        if not self.takes_over(LAST_WORDS if isinstance(error, LostProcess) else OWN_WORDS):
            return SaidElsewhere(status)
        return LostProcess(text) if isinstance(error, InputError) else error

    def takes_over(self, patience: timedelta = LAST_WORDS) -> bool:
        """Say whether the first process is gone without a word, and this one is to speak in its place."""
        if self._is_heir is None:
            self._is_heir = not self._hears_first(patience) and self._speaks_before_others()
        return self._is_heir

    _is_heir: bool | None = None

    def _reason(self) -> BaseException | None:
        """Return what another process has left as the reason of its end, as an error of this one."""
        for rank in range(1, self.place.size):
            if said := self._read(f"reason-{rank}"):
                reason = json.loads(said)
                if reason["status"] == _STATUS[KeyboardInterrupt]:
                    return KeyboardInterrupt()
                is_input = reason["status"] == _STATUS[InputError]
                words = f"process {rank} (the first is 0): {reason['text']}"
                return InputError(words) if is_input else LostProcess(f"{words}; {GO_ON}")
        return None

    def _mark_first(self) -> None:
        """Let the others know that the first process is still there and says why the run ends."""
        if self.place.rank == 0:
            self._write("first", "ends")

    def _hears_first(self, patience: timedelta) -> bool:
        try:
            self.store.wait(["first"], patience)
        except RuntimeError:
            return False
        return True

    def _speaks_before_others(self) -> bool:
        """Say whether no other process speaks for the first already; where nothing can be asked any more, none does."""
        try:
            return bool(self.store.add("spoken", 1) == 1)
        except RuntimeError:
            return True

    def _write(self, name: str, text: str) -> None:
        with contextlib.suppress(RuntimeError):
            self.store.set(name, text)

    def _read(self, name: str) -> str:
        try:
            return self.store.get(name).decode() if self.store.check([name]) else ""
        except RuntimeError:
            return ""

    def _close(self, error: BaseException | None = None) -> None:
        """Close the connections; what was interrupted in the middle of an exchange must not hold on to them."""
        while error is not None:
            traceback.clear_frames(error.__traceback__)
            error = error.__context__
        with contextlib.suppress(RuntimeError, ValueError):
            distributed.destroy_process_group()
        gc.collect()  # the connections close with the last reference to them


def device_of_process(name: str, place: Launch) -> str:
    """Return the device of this process: a GPU of its own where there are GPUs, unless the CPU is asked for."""
    if place.size == 1 or name == "cpu" or (name == "auto" and not torch.cuda.is_available()):
        return name
    if name not in ("auto", "cuda"):
        raise InputError(f"every process needs a device of its own, and all get {name!r}; use auto, cuda or cpu")
    if place.local_rank >= (there := torch.cuda.device_count()):
        raise InputError(
            f"every process needs a GPU of its own, and there {'is' if there == 1 else 'are'} {there} for more "
            f"processes; start {there} (--nproc-per-node {there}), or use --device cpu"
        )
    return f"cuda:{place.local_rank}"


@contextlib.contextmanager
def joined(device: str) -> Iterator[tuple[Ranks, str]]:
    """Join the run torchrun has started, if it has; yield the place of this process and its device."""
    place = launch()
    own = device_of_process(device, place)
    if place.size == 1:
        yield ALONE, own
        return
    group = _meet(place, own)
    usual = signal.signal(signal.SIGTERM, group.told_to_end)
    try:
        yield group.ranks, own
    except BaseException as error:
        ended = group.fail(error)
        raise ended from (None if ended is error else error)
    else:
        group.finish()
    finally:
        signal.signal(signal.SIGTERM, usual)


def _meet(place: Launch, device: str) -> _Group:
    """Connect to the others: over the network for all messages but those between GPUs."""
    backend = "gloo" if device in ("cpu", "auto") else "cpu:gloo,cuda:nccl"
    try:
        shared, _, _ = next(iter(rendezvous("env://", timeout=PATIENCE)))
        store = PrefixStore(attempt(), shared)
        connections = PrefixStore("connections", store)
        distributed.init_process_group(
            backend, store=connections, rank=place.rank, world_size=place.size, timeout=PATIENCE
        )
        distributed.all_reduce(torch.zeros(1))  # one that fails at once would leave the others connecting
    except (RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"the {place.size} processes of this run cannot reach each other ({reason})") from error
    return _Group(place, PrefixStore("last words", store))


def attempt() -> str:
    """Name this attempt of torchrun, whose store outlives it: what ended processes left there is not for this one.

    On several machines each counts only its own failures, so there the number does not name an attempt.
    """
    if os.environ.get("GROUP_WORLD_SIZE", "1") != "1":
        return "all attempts"
    return f"attempt {os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
