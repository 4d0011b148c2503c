"""Tables that are no text: Parquet files and the Arrow files that `datasets` saves. pyarrow reads and writes them."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from retainer.data.corpus import Corpus
from retainer.data.formats.class_labels import features_of, with_names
from retainer.data.formats.table_rows import Row, Table, corpus_of_table
from retainer.data.formats.tokens import write_tokens
from retainer.data.lines import numbered_lines
from retainer.data.spans import Sentence
from retainer.errors import InputError

_PARQUET, _ARROW_FILE, _ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
"""How such files begin."""
_ROW_BYTES = 64
"""What a row counts beside its cells."""
_ROWS = 256
"""Rows that are held at once."""
_SUSPECT_BYTES, _SUSPECT_RATIO = 64 << 20, 200
"""A table whose rows take more than this, and so many times more than its file, is not one that people make."""
_DATA_FILE, _STATE, _INFO = "data-00000-of-00001.arrow", "state.json", "dataset_info.json"


def sniff_parquet(data: bytes) -> bool:
    """Recognise a Parquet file."""
    return data.startswith(_PARQUET)


def sniff_arrow(data: bytes) -> bool:
    """Recognise an Arrow file or stream, as `datasets` saves them."""
    return data.startswith((_ARROW_FILE, _ARROW_STREAM))


def read_columnar(path: str, named: Mapping[str, str] | None, format: str) -> Corpus:
    """Read a corpus from a Parquet or an Arrow file."""
    return corpus_of_table(columnar_table(path, named), format)


def columnar_table(path: str, named: Mapping[str, str] | None = None) -> Table:
    """Take a Parquet or an Arrow file as a table; its rows are numbered from 1."""
    _require_pyarrow(path)
    with _damage_in(path):
        schema, batches = _opened(path)
        features = features_of(schema.metadata or {})
    return Table(schema.names, _rows(path, schema.names, features, batches), path, named or {})


def write_parquet(sentences: Iterable[Sentence]) -> bytes:
    """Make a Parquet file: words, tags, and what is complete."""
    table, _ = _arrow_table(sentences, "parquet")
    import pyarrow.parquet

    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out)
    return out.getvalue()


def write_datasets(sentences: Iterable[Sentence]) -> dict[str, bytes]:
    """Make the files of a folder as `datasets` saves it: words, tags, and what is complete."""
    table, features = _arrow_table(sentences, "datasets")
    import pyarrow

    out = io.BytesIO()
    with pyarrow.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    return {_DATA_FILE: out.getvalue(), _STATE: _state(), _INFO: json.dumps({"features": features}).encode()}


def _arrow_table(sentences: Iterable[Sentence], format: str) -> tuple[Any, dict[str, Any]]:
    """Return sentences as a table of pyarrow, and its columns as `datasets` describes them."""
    records = [json.loads(line) for _, line in numbered_lines(write_tokens(sentences)) if line]
    if not records:
        raise InputError("there is no sentence to write")
    _require_pyarrow(f"a file in the format {format}")
    import pyarrow

    kinds, features = _schema(any("complete" in record for record in records))
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    columns = {name: [record.get(name) for record in records] for name in features}
    return pyarrow.table(columns, schema=pyarrow.schema(kinds, metadata=metadata)), features


def _schema(told: bool) -> tuple[list[tuple[str, Any]], dict[str, Any]]:
    """Return the columns for pyarrow and as `datasets` describes them."""
    import pyarrow

    names = ["tokens", "ner_tags", *(["complete"] if told else [])]
    feature = {"feature": {"dtype": "string", "_type": "Value"}, "_type": "List"}
    return [(name, pyarrow.list_(pyarrow.string())) for name in names], {name: feature for name in names}


def _state() -> bytes:
    """Return what `datasets` wants to know about a saved folder."""
    state = {"_data_files": [{"filename": _DATA_FILE}], "_fingerprint": "retainer", "_format_columns": None}
    return json.dumps(
        {**state, "_format_kwargs": {}, "_format_type": None, "_output_all_columns": False, "_split": None}
    ).encode()


def _require_pyarrow(what: str) -> None:
    if find_spec("pyarrow") is None:
        raise InputError(f"{what}: Parquet and Arrow need pyarrow; install it: pip install 'retainer[files]'")


def _arrow_error() -> type[Exception]:
    import pyarrow

    error: type[Exception] = pyarrow.ArrowException
    return error


@contextlib.contextmanager
def _damage_in(path: str) -> Iterator[None]:
    """Turn what pyarrow says about a damaged file into one sentence."""
    try:
        yield
    except InputError:
        raise
    except (_arrow_error(), OSError, ValueError, MemoryError, RecursionError) as error:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise InputError(f"{path}: the table is damaged or cut off ({reason[:200]}); get it again") from error


def _opened(path: str) -> tuple[Any, Iterator[Any]]:
    """Return the schema of a file and its batches of rows."""
    import pyarrow
    import pyarrow.parquet

    with open(path, "rb") as opened:
        beginning = opened.read(8)
    if sniff_parquet(beginning):
        file = pyarrow.parquet.ParquetFile(path)
        groups = (file.metadata.row_group(number) for number in range(file.metadata.num_row_groups))
        _refuse_bomb(path, sum(group.total_byte_size for group in groups), os.path.getsize(path))
        return file.schema_arrow, file.iter_batches(batch_size=_ROWS, use_threads=False)
    source = pyarrow.OSFile(path)
    if beginning.startswith(_ARROW_FILE):
        reader = pyarrow.ipc.open_file(source)
        return reader.schema, (reader.get_batch(number) for number in range(reader.num_record_batches))
    stream = pyarrow.ipc.open_stream(source)
    return stream.schema, iter(stream)


def _rows(path: str, names: Sequence[str], features: Mapping[str, Any], batches: Iterator[Any]) -> Iterator[Row]:
    """Yield the rows of all batches; offsets that lead out of a batch are found before they are followed."""
    number, made, size = 0, 0, os.path.getsize(path)
    while True:
        with _damage_in(path):
            batch = next(batches, None)
            if batch is None:
                return
            batch.validate(full=True)
        for start in range(0, batch.num_rows, _ROWS):
            piece = batch.slice(start, _ROWS)
            made += piece.get_total_buffer_size() if start == 0 else 0
            _refuse_bomb(path, made + _ROW_BYTES * number, size)
            with _damage_in(path):
                columns = [_values(piece.column(at), features.get(name)) for at, name in enumerate(names)]
            for cells in zip(*columns, strict=True):
                number += 1
                yield number, cells


def _values(column: Any, feature: Any) -> list[Any]:
    values = column.to_pylist()
    return values if feature is None else [with_names(value, feature) for value in values]


def _refuse_bomb(path: str, made: int, size: int) -> None:
    if made > max(_SUSPECT_BYTES, _SUSPECT_RATIO * size):
        raise InputError(f"{path}: its rows take more than {_SUSPECT_RATIO} times the size of the file; is it damaged?")
