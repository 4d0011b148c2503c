"""A tagger as an ONNX file, in full precision or with 8-bit weights: written here, and run without its network."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import json
import logging
import warnings
from collections.abc import Container, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoTokenizer

from retainer.data.labels import Labels
from retainer.errors import InputError
from retainer.files import sha256
from retainer.model.batches import Batch
from retainer.model.tagger import Tagger, require_vocabulary
from retainer.model.tagger_output import TaggerOutput
from retainer.model.tokenization import Tokenization

FILE = "model.onnx"
INPUTS = ("input_ids", "attention_mask")


class Exported(Tagger):
    """A tagger whose network is an ONNX file, run by onnxruntime on the CPU. It tags, but cannot learn."""

    device = torch.device("cpu")

    def __init__(self, session: Any, labels: Labels, tokenize: Tokenization) -> None:
        nn.Module.__init__(self)
        self.session, self.labels, self.tokenize = session, labels, tokenize

    def outputs(self, batch: Batch, needs: Container[str] = ()) -> TaggerOutput:
        """Return the scores of all positions; there are no vectors."""
        arrays = (batch.ids.numpy(), batch.mask.long().numpy())
        scores = torch.from_numpy(self.session.run(None, dict(zip(INPUTS, arrays, strict=True)))[0])
        return TaggerOutput(scores.flatten(0, 1), scores.new_empty(0))


class _Plain(nn.Module):
    """A tagger with the inputs and the output an ONNX file has."""

    def __init__(self, tagger: Tagger) -> None:
        super().__init__()
        self.body, self.head = tagger.body, tagger.head

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the scores."""
        scores: Tensor = self.head(self.body(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state)
        return scores


def export_onnx(tagger: Tagger, folder: Path, *, int8: bool, about: dict[str, Any]) -> None:
    """Write the network, its tokenizer and a config with the names of the labels into a folder."""
    for package in ("onnx", "onnxscript", *(["onnxruntime"] if int8 else [])):
        _need(package)
    _write_graph(tagger, folder / FILE)
    bits = _quantize(folder / FILE) if int8 else 32
    tagger.tokenize.tokenizer.save_pretrained(folder)
    files = {path.name: sha256(path) for path in sorted(folder.iterdir()) if path.is_file()}
    facts: dict[str, Any] = {
        "id2label": {str(at): name for at, name in enumerate(tagger.labels.names)},
        "max_length": tagger.tokenize.limit,
        "retainer": {**about, "bits": bits, "sha256": files[FILE], "files": files},
    }
    facts["retainer"]["hash"] = _facts_hash(facts)
    (folder / "config.json").write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _facts_hash(facts: dict[str, Any]) -> str:
    """Return the SHA-256 of what config.json says, apart from the hash itself: labels decide what an answer means."""
    about = {name: value for name, value in facts["retainer"].items() if name != "hash"}
    return hashlib.sha256(json.dumps({**facts, "retainer": about}, sort_keys=True).encode()).hexdigest()


def load_exported(folder: Path) -> tuple[Exported, dict[str, Any]]:
    """Load what was exported, and what was written down about it."""
    runtime = _need("onnxruntime")
    require_vocabulary(folder, str(folder))
    try:
        facts = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        labels = Labels(tuple(facts["id2label"][str(i)] for i in range(len(facts["id2label"]))))
        limit, about = int(facts["max_length"]), dict(facts["retainer"])
        whole = {FILE: about["sha256"], **about.get("files", {})}
        sealed = "hash" not in about or about["hash"] == _facts_hash(facts)  # an older retainer wrote none
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{folder} has no whole config.json of an export by retainer; export it again") from None
    changed = [name for name, known in whole.items() if Path(name).name != name or _hash(folder / name) != known]
    if changed or not sealed:
        bad = folder / (changed or ["config.json"])[0]
        raise InputError(f"{bad} is truncated or was changed after it was exported; export it again")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        session = runtime.InferenceSession(str(folder / FILE), options, providers=["CPUExecutionProvider"])
        tokenize = Tokenization(AutoTokenizer.from_pretrained(folder), limit)
    except Exception as error:  # a damaged tokenizer raises anything
        why = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(f"{folder} cannot be loaded: {why}; its tokenizer may be damaged, export it again") from None
    return Exported(session, labels, tokenize), about


def _hash(file: Path) -> str:
    """Return the SHA-256 of a file, or nothing where there is none."""
    return sha256(file) if file.is_file() else ""


def _write_graph(tagger: Tagger, file: Path) -> None:
    """Trace the network with both dimensions free; the example has padding, so the mask is part of the graph."""
    ids = torch.full((2, 8), tagger.tokenize.tokenizer.pad_token_id or 0)
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    free = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length", max=tagger.tokenize.limit)}
    plain = _Plain(copy.deepcopy(tagger).cpu().eval()).eval()
    with _hushed():
        torch.onnx.export(
            plain,
            (ids, mask),
            str(file),
            input_names=list(INPUTS),
            output_names=["logits"],
            dynamic_shapes=(free, free),
            dynamo=True,
            external_data=False,
            verbose=False,
        )


def _quantize(file: Path) -> int:
    """Turn the weights into 8-bit numbers, a scale per channel, and return how many bits they use.

    Layers that narrow keep full precision: they see what a non-linearity let through, where a few large numbers cost
    all others their digits. Without VNNI instructions the 16-bit sums of x86 processors overflow, so there the weights
    get 7 bits.
    """
    quantization = import_module("onnxruntime.quantization")
    abilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    x86 = abilities.get("architecture", "x86_64") == "x86_64"
    overflows = x86 and not (abilities.get("avx512_vnni") or abilities.get("avx_vnni"))
    whole = file.with_suffix(".whole.onnx")
    file.rename(whole)
    with _hushed():
        quantization.quantize_dynamic(
            whole,
            file,
            weight_type=quantization.QuantType.QInt8,
            per_channel=True,
            reduce_range=overflows,
            nodes_to_exclude=_narrowing(whole),
        )
    whole.unlink()
    return 7 if overflows else 8


def _narrowing(file: Path) -> list[str]:
    """Name the products with a weight that has fewer columns than rows."""
    graph = import_module("onnx").load(str(file)).graph
    shapes = {weight.name: tuple(weight.dims) for weight in graph.initializer}
    found = [(node.name, shapes.get(node.input[1], ())) for node in graph.node if node.op_type == "MatMul"]
    return [name for name, shape in found if len(shape) == 2 and shape[0] > shape[1]]


def _need(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise InputError(f"ONNX needs the package {package}; install it: pip install 'retainer[onnx]'") from None


@contextlib.contextmanager
def _hushed() -> Iterator[None]:
    """Silence what the exporters print about themselves."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)
