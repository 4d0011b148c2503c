"""What a worker of a bulk run is made of: a model that is loaded once, and what it writes about every text."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from retainer.errors import InputError
from retainer.metrics.calibration import require_curves
from retainer.metrics.thresholds import above_threshold, require_thresholds
from retainer.workers.pool import Work
from retainer.workers.tagging.chunks import Named

ShardRows = list[dict[str, Any]]
ShardFormat = Literal["jsonl", "parquet"]


@dataclass(frozen=True)
class TaggerSetup:
    """A model, and how it is used. It computes on one thread: then the same texts give the same bytes everywhere."""

    model: str
    format: ShardFormat = "jsonl"
    device: str = "auto"
    calibrated: bool = False
    threshold: Mapping[str, float] = field(default_factory=dict)

    def start(self, number: int) -> tuple[Work, Sequence[str]]:
        """Load the model and return what tags a chunk, and remarks about scores."""
        import torch

        from retainer.versions.version import load

        torch.set_num_threads(1)
        version = load(self.model, device=self._device(number), need_head=True)
        require_thresholds(self.threshold, version.types)
        remarks = []
        if self.calibrated and (bare := require_curves(self.model, version.lineage.calibration, version.types)):
            remarks = [f"not calibrated, so their scores are those without --calibrated: {', '.join(bare)}"]
        return lambda texts: SHARD_FORMATS[self.format](self._rows(version, texts)), remarks

    def _device(self, number: int) -> str:
        """Spread workers over the GPUs they see."""
        import torch

        count = torch.cuda.device_count() if self.device in ("auto", "cuda") else 0
        return f"cuda:{number % count}" if count > 1 else self.device

    def _rows(self, version: Any, texts: Sequence[Named]) -> ShardRows:
        """Tag some texts; long ones are taken together inside, the rows are in the order of the texts."""
        from retainer.model.predict import find_entities

        sentences = [text.sentence(name) for name, text in texts]
        rows = []
        for (name, text), sentence, plain in zip(
            texts, sentences, find_entities(version.tagger, sentences), strict=True
        ):
            found = version.calibrated(plain) if self.calibrated else plain
            entities = above_threshold(found, self.threshold)
            rows.append({"id": f"{name}:{text.number}", "text": sentence.located()[0], "entities": entities})
        return rows


def _json_lines(rows: ShardRows) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _parquet(rows: ShardRows) -> bytes:
    import pyarrow
    import pyarrow.parquet

    words, places = pyarrow.string(), pyarrow.int64()
    kinds = {"entity_group": words, "score": pyarrow.float64(), "word": words, "start": places, "end": places}
    entity = pyarrow.struct(list(kinds.items()))
    schema = pyarrow.schema([("id", words), ("text", words), ("entities", pyarrow.list_(entity))])
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), out)
    return out.getvalue()


SHARD_FORMATS: dict[ShardFormat, Callable[[ShardRows], bytes]] = {"jsonl": _json_lines, "parquet": _parquet}
"""How the rows of a shard are written."""


def require_shard_format(format: ShardFormat) -> None:
    """Refuse Parquet where the package that writes it is missing, before anything is read."""
    from importlib.util import find_spec

    if format == "parquet" and find_spec("pyarrow") is None:
        raise InputError("--format parquet needs pyarrow; install it: pip install 'retainer[files]'")
