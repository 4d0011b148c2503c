"""A tagger: any encoder with a token-classification head, as our heads see it and as Hugging Face stores it."""

from __future__ import annotations

import contextlib
import copy
import json
import logging
import os
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForTokenClassification, AutoTokenizer

from retainer.data.labels import Labels
from retainer.errors import InputError, nearest
from retainer.model.adapters import merge_adapters
from retainer.model.batches import Batch
from retainer.model.builtin import builtin_folder
from retainer.model.heads import HEADS, CosineHead, Head, HeadKind, LinearHead, Rows
from retainer.model.quirks import NONE, Quirks
from retainer.model.tagger_output import TaggerOutput
from retainer.model.tokenization import Tokenization

HEAD_NAMES = ("classifier", "score")
"""What transformers' token classifiers call their linear layer."""

UNFOLDED = "cosine_head.safetensors"
"""Where a version with a cosine head keeps it for the next task; the folded one is in the model's own weights."""


class Tagger(nn.Module):
    """An encoder, a head and the labels of its outputs. ``network`` is the transformers model they came in."""

    quirks: Quirks = NONE

    def __init__(self, network: Any, head: Head, labels: Labels, tokenize: Tokenization) -> None:
        super().__init__()
        self.network, self.head, self.labels, self.tokenize = network, head, labels, tokenize
        self.head_name = next(name for name in HEAD_NAMES if hasattr(network, name))
        setattr(network, self.head_name, nn.Identity())  # our head takes its place until the tagger is saved

    @property
    def body(self) -> nn.Module:
        """The encoder proper, without any head."""
        body: nn.Module = self.network.base_model
        return body

    @property
    def device(self) -> torch.device:
        """Where the parameters live."""
        return self.head.device

    @property
    def width(self) -> int:
        """The length of a token vector."""
        return self.head.old.weight.shape[-1]

    def outputs(self, batch: Batch, needs: Container[str] = ()) -> TaggerOutput:
        """Return scores and vectors of all positions in one row, and what else a method needs."""
        asked = {"output_hidden_states": "layers" in needs, "output_attentions": "maps" in needs}
        said = self._encode(batch, **{name: True for name, wanted in asked.items() if wanted})
        layers = tuple(layer.flatten(0, 1) for layer in said.hidden_states) if "layers" in needs else None
        return TaggerOutput(
            self._score(said.last_hidden_state).flatten(0, 1),
            said.last_hidden_state.flatten(0, 1),
            layers=layers,
            maps=tuple(said.attentions) if "maps" in needs else None,
            mask=batch.mask if "maps" in needs else None,
        )

    def forward(self, batch: Batch) -> Tensor:
        """Return the scores of all labels at all positions."""
        return self._score(self._encode(batch).last_hidden_state)

    def _encode(self, batch: Batch, **asked: bool) -> Any:
        mask = torch.ones_like(batch.ids) if self.quirks.batch else batch.mask.long()
        return self.body(input_ids=batch.ids, attention_mask=mask, **asked)

    def _score(self, last: Tensor) -> Tensor:
        """Put the head on the last layer's vectors, dropout included while training."""
        logits: Tensor = self.head(_dropout(self.network)(last).float())
        return logits

    def grown(self, labels: Labels, head: Head) -> Tagger:
        """Return an independent copy with a larger head; this tagger stays as it is and can serve as the teacher."""
        return self.like(copy.deepcopy(self.network), head, labels).to(self.device)

    def settled(self) -> Tagger:
        """Return the same tagger with old and new rows joined, and adapters with their weights: training is over."""
        merge_adapters(self.network)
        return self.like(self.network, self.head.merged().to(self.device), self.labels)

    def like(self, network: Any, head: Head, labels: Labels) -> Tagger:
        """Return a tagger that reads and behaves like this one."""
        other = Tagger(network, head, labels, self.tokenize)
        other.quirks = self.quirks
        return other

    def paired(self) -> Tagger:
        """Return the same tagger with a linear head whose labels are B- and I- alone, whatever scheme it has."""
        return self.like(self.network, LinearHead(Rows(*self.head.folded())).to(self.device), self.labels.paired())

    def save(self, folder: Path) -> None:
        """Write a plain Hugging Face folder; a cosine head is folded, and kept unfolded beside."""
        network = self.network
        weight, bias = self.head.folded()
        layer = nn.Linear(weight.shape[1], weight.shape[0])
        layer.load_state_dict({"weight": weight.cpu(), "bias": bias.cpu()})
        setattr(network, self.head_name, layer.to(self.device))
        network.num_labels = network.config.num_labels = len(self.labels.names)
        network.config.id2label = dict(enumerate(self.labels.names))
        network.config.label2id = {name: self.labels.names.index(name) for name in self.labels.names}
        with quiet():
            network.save_pretrained(folder)
            self.tokenize.tokenizer.save_pretrained(folder)
        setattr(network, self.head_name, nn.Identity())
        if isinstance(self.head, CosineHead):
            state = {"weight": self.head.weight(), "sigma": self.head.sigma.detach(), "norm": self.head.norm}
            save_file({name: tensor.cpu() for name, tensor in state.items()}, folder / UNFOLDED)


def load_tagger(spec: str, *, head: HeadKind = "linear", need_head: bool = False) -> Tagger:
    """Load ``builtin``, a folder or a hub name; a bare encoder gets an empty head of the asked kind.

    With ``need_head`` a bare encoder is refused: it cannot predict anything yet.
    """
    place = builtin_folder() if spec == "builtin" else Path(spec)
    source = str(place) if spec == "builtin" or place.is_dir() else spec
    _require_possible(place, spec)
    with quiet(), _explained(spec, place):
        config = AutoConfig.from_pretrained(source)
        bare = not any(str(name).endswith("ForTokenClassification") for name in config.architectures or [])
        if bare and need_head:
            raise InputError(
                f"{spec} has no token-classification head, so it cannot tag yet; teach it first: "
                f"retainer learn DATA --from {spec} --out DIR"
            )
        require_vocabulary(place, spec)
        tokenizer = AutoTokenizer.from_pretrained(source)
        _require_fast(tokenizer, spec)
        network = _network(source, bare, spec)
        tokenize = Tokenization(tokenizer, _limit(config, tokenizer))
        if bare:
            return Tagger(network, HEADS[head].empty(_layer(network).in_features), Labels(), tokenize)
        _require_plain_head(network, tokenizer, spec)
        labels = _labels(config, spec)
        return Tagger(network, _stored_head(network, place, labels), labels, tokenize)


def _network(source: str, bare: bool, spec: str) -> Any:
    """Load the transformers model; a bare encoder comes with an unused head of one output."""
    options = {"num_labels": 1} if bare else {}
    network, report = AutoModelForTokenClassification.from_pretrained(
        source, use_safetensors=True, dtype=torch.float32, output_loading_info=True, **options
    )
    allowed = f"{_head_name(network)}." if bare else "\0"
    lost = sorted(key for key in report["missing_keys"] if not key.startswith(allowed))
    if lost:
        raise InputError(f"the weights of {spec} are incomplete: {lost[0]} and {len(lost) - 1} more are missing")
    return network


def _stored_head(network: Any, place: Path, labels: Labels) -> Head:
    """Return the head of a checkpoint: the unfolded cosine head where we left one, else its linear layer."""
    layer = _layer(network)
    if not (place / UNFOLDED).is_file():
        return LinearHead(Rows(layer.weight, layer.bias))
    state = load_file(place / UNFOLDED)
    if len(state["weight"]) != len(labels.names):
        raise InputError(f"{place / UNFOLDED} does not fit the labels of {place}; the folder was mixed from two models")
    rows = Rows(state["weight"], torch.zeros(len(labels.names)))
    return CosineHead(rows, sigma=float(state["sigma"]), norm=float(state["norm"]))


def _labels(config: Any, spec: str) -> Labels:
    names = tuple(str(config.id2label[i]) for i in sorted(config.id2label))
    if all(name == f"LABEL_{i}" for i, name in enumerate(names)):
        raise InputError(f"the labels of {spec} have no names (LABEL_0, …); give them in its config.json (id2label)")
    return Labels(names)


def _head_name(network: Any) -> str:
    for name in HEAD_NAMES:
        if isinstance(getattr(network, name, None), nn.Linear) and getattr(network, name).bias is not None:
            return name
    raise InputError(f"{type(network).__name__} has no plain linear head, so new types cannot be added to it")


def _layer(network: Any) -> nn.Linear:
    layer: nn.Linear = getattr(network, _head_name(network))
    return layer


def _dropout(network: Any) -> nn.Module:
    layer = getattr(network, "dropout", None)
    return layer if isinstance(layer, nn.Module) else nn.Identity()


def _limit(config: Any, tokenizer: Any) -> int:
    """Return the longest input: positions the encoder has, less the ones RoBERTa's kind keeps for padding."""
    positions = getattr(config, "max_position_embeddings", None) or 512
    if config.model_type in {"roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "longformer", "mpnet"}:
        positions -= (getattr(config, "pad_token_id", 1) or 0) + 1
    return int(min(positions, tokenizer.model_max_length, 8192))


def _require_possible(place: Path, spec: str) -> None:
    """Refuse what can only be a mistyped folder at once: asking the hub for it takes long where there is no network."""
    parts = spec.replace("\\", "/").strip("/").split("/")
    path = spec.startswith((".", "/", "~")) or len(parts) > 2 or (len(parts) == 2 and place.parent.is_dir())
    if path and not place.is_dir():
        raise InputError(f"there is no folder {spec}{_near(place)}; a model is a folder, a hub name, or 'builtin'")


def _near(place: Path) -> str:
    """Hint at the folder that is probably meant, among those beside one that does not exist."""
    beside = place.parent.iterdir() if place.parent.is_dir() else ()
    return nearest(place.name, [other.name for other in beside if other.is_dir()])


def require_vocabulary(place: Path, spec: str) -> None:
    """Refuse a folder without a tokenizer: transformers would make one up that knows no word."""
    names = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
    if place.is_dir() and not any(list(place.glob(name)) for name in names):
        raise InputError(f"{spec} has no tokenizer (tokenizer.json), so its words cannot be read; restore it")


def _require_fast(tokenizer: Any, spec: str) -> None:
    if not tokenizer.is_fast:
        raise InputError(f"{spec} has no fast tokenizer (tokenizer.json), which retainer needs to find the words")


@torch.no_grad()
def _require_plain_head(network: Any, tokenizer: Any, spec: str) -> None:
    """Make sure that encoder, dropout and linear layer are all there is between words and scores."""
    network.eval()
    inputs = {"input_ids": torch.tensor([tokenizer("a b")["input_ids"]])}
    ours = _layer(network)(network.base_model(**inputs).last_hidden_state)
    if not torch.allclose(ours, network(**inputs).logits, atol=1e-4):
        kind = type(network).__name__
        raise InputError(f"{spec} ({kind}) does more than a linear layer on its encoder, so its head cannot grow")


@contextlib.contextmanager
def _explained(spec: str, place: Path) -> Iterator[None]:
    """Turn what loading can raise into one sentence about the user's model.

    A damaged config or tokenizer raises anything, down to a panic of the tokenizers' Rust code, which is no Exception.
    """
    try:
        yield
    except InputError:
        raise
    except (SafetensorError, json.JSONDecodeError) as error:
        raise InputError(f"the files of {spec} are truncated or damaged ({error}); fetch or train them again") from None
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise InputError(_why_not(spec, place, error)) from None


def _why_not(spec: str, place: Path, error: BaseException) -> str:
    why = next(iter(str(error).splitlines()), type(error).__name__)
    if not os.path.isdir(place):
        return f"model {spec} not found: there is no such folder{_near(place)}, and the hub has none: {why}"
    if not os.path.isfile(place / "config.json"):
        return f"{spec} is a folder without config.json, so it is not a Hugging Face model"
    if not list(place.glob("*.safetensors")):
        return f"{spec} has no safetensors weights; retainer never reads pickled ones (convert them first)"
    return f"{spec} cannot be loaded as a token classifier: {why}; its config.json or its tokenizer may be damaged"


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence what transformers prints about things we do on purpose, such as adding a head it does not know."""
    from transformers.utils import logging as their_logging

    level, bars = their_logging.get_verbosity(), their_logging.is_progress_bar_enabled()
    hub = logging.getLogger("huggingface_hub")
    hub_level = hub.level
    hub.setLevel(logging.CRITICAL)
    their_logging.set_verbosity(logging.CRITICAL)
    their_logging.disable_progress_bar()
    try:
        yield
    finally:
        their_logging.set_verbosity(level)
        hub.setLevel(hub_level)
        if bars:
            their_logging.enable_progress_bar()
