"""A bulk run: every text is tagged exactly once, whatever dies on the way; what an earlier call finished is kept."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path

from retainer.errors import InputError
from retainer.files import sha256
from retainer.runtime import shared_gpu
from retainer.workers.pool import TRIES, Died, Workers, WorkItem, answers
from retainer.workers.processes import Processes
from retainer.workers.ray_cluster import Files, cluster, packed
from retainer.workers.tagging.chunks import ChunkSize, chunks
from retainer.workers.tagging.inputs import InputFile
from retainer.workers.tagging.shards import Identity, Shards, open_shards
from retainer.workers.tagging.tagger_setup import TaggerSetup

Crew = contextlib.AbstractContextManager[Callable[[TaggerSetup], Workers]]
"""What gives workers for the time of a run."""

_NOT_NEEDED = "parent"
"""The folder of a version that only a rollback needs; it is not sent to nodes."""


class BulkProgress:
    """What a bulk run reports. This one is silent; the command line has one that prints."""

    def note(self, text: str) -> None:
        """Report a remark."""

    def advance(self, texts: int, share: float) -> None:
        """Report that so many more texts are done, and the share of the inputs' bytes that was read."""


@dataclass(frozen=True)
class BulkRun:
    """What is tagged, and how."""

    setup: TaggerSetup
    files: Sequence[InputFile]
    columns: Mapping[str, str] = field(default_factory=dict)
    int8: bool = False
    cut: ChunkSize = field(default_factory=ChunkSize)

    @property
    def identity(self) -> Identity:
        """What makes it this run; where it is computed, and by how many workers, changes nothing."""
        asked = {name: value for name, value in asdict(self.setup).items() if name not in ("model", "device")}
        return {
            "model": model_hash(self.setup.model),
            **asked,
            "threshold": dict(self.setup.threshold),
            "int8": self.int8,
            "columns": dict(self.columns),
            "chunk": asdict(self.cut),
            "inputs": [file.facts for file in self.files],
        }

    def to(self, out: str | Path, crew: Callable[[TaggerSetup], Workers], progress: BulkProgress) -> dict[str, int]:
        """Tag what is missing in a folder, and return how many texts and shards there are."""
        with open_shards(out, self.identity) as shards, self._exported() as setup:
            counts, lost = self._tag(shards, lambda: crew(setup), progress)
            if lost:
                raise InputError(_lost(lost, counts))
            shards.finish(counts)
        return counts

    @contextlib.contextmanager
    def _exported(self) -> Iterator[TaggerSetup]:
        """Give the setup, with 8-bit weights if they are wanted: made once, for all workers."""
        if not self.int8:
            yield self.setup
            return
        with tempfile.TemporaryDirectory(prefix="retainer-") as place:
            from retainer.versions.version import load

            load(self.setup.model, device="cpu", need_head=True).export(Path(place) / "int8", int8=True)
            yield replace(self.setup, model=str(Path(place) / "int8"))

    def _tag(
        self, shards: Shards, crew: Callable[[], Workers], progress: BulkProgress
    ) -> tuple[dict[str, int], list[str]]:
        """Write the missing shards; return what there is, and the places of chunks that no worker survives."""
        done, lost = Counter(texts=0, shards=0), list[str]()
        missing = self._missing(shards, done)
        first = next(missing, None)
        if first is None:
            return dict(done), lost
        with contextlib.closing(answers(crew(), chain([first], missing), progress.note)) as finished:
            for task, value in finished:
                if isinstance(value, Died):
                    lost.append(f"{task.about.place} ({value.reason})")
                    continue
                shards.write(task.number, value)
                done.update(texts=len(task.payload), shards=1)
                progress.advance(len(task.payload), task.about.read)
        return dict(done), lost

    def _missing(self, shards: Shards, done: Counter[str]) -> Iterator[WorkItem]:
        """Yield the chunks without a shard; count the others."""
        total = max(1, sum(file.size for file in self.files))
        for chunk in chunks(self.files, self.columns, self.cut):
            if chunk.number in shards.done:
                done.update(texts=len(chunk.texts), shards=1)
            else:
                yield WorkItem(chunk.number, chunk.texts, About(chunk.place, chunk.read / total))


@dataclass(frozen=True)
class About:
    """What is said about a chunk."""

    place: str
    read: float
    """The share of the inputs' bytes that was read when it was complete."""


def _lost(places: Sequence[str], done: Mapping[str, int]) -> str:
    more = f", and {len(places) - 1} more chunks" if len(places) > 1 else ""
    return (
        f"{TRIES} workers died over the texts {places[0]}{more}; the other {done['texts']} texts are tagged. Remove "
        "what kills them, or give workers more memory, and start the same command again"
    )


def model_hash(model: str) -> str:
    """Return the hash of all files of a model's folder; of one that only has a name, the name."""
    folder = Path(model)
    if not folder.is_dir():
        return model
    files = sorted(path for path in folder.iterdir() if path.is_file())
    facts = "".join(f"{path.name} {sha256(path)}\n" for path in files)
    return hashlib.sha256(facts.encode()).hexdigest()


@contextlib.contextmanager
def local_crew(jobs: int) -> Iterator[Callable[[TaggerSetup], Workers]]:
    """Give what makes workers out of processes of this machine."""
    with shared_gpu():
        yield lambda setup: Processes(setup, jobs)


@contextlib.contextmanager
def ray_crew(address: str) -> Iterator[Callable[[TaggerSetup], Workers]]:
    """Connect to a Ray cluster and give what makes workers out of its actors; a model's folder travels to them."""
    with cluster(address) as resources:
        from retainer.workers.ray_actors import RayActors

        yield lambda setup: RayActors(setup, _files(setup.model), resources)


def _files(model: str) -> Files | None:
    """Return the files of a model to send; one that has only a name is loaded by it on every node."""
    return packed(Path(model), _NOT_NEEDED) if Path(model).is_dir() else None
