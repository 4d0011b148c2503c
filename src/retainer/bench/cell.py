"""One cell of a bench (preset x setting x method x seed): what determines it, where it lies, how it is kept."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from retainer.bench.preset import Setting
from retainer.bench.result import CellResult
from retainer.data.spans import Sentence, Span
from retainer.data.tasks import Plan
from retainer.errors import InputError
from retainer.files import sha256, write_bytes, write_text
from retainer.methods import METHODS, Method
from retainer.methods import method as find_method
from retainer.methods.plugins import class_address
from retainer.model.builtin import builtin_folder
from retainer.training.recipe import RECIPES, Recipe

T = TypeVar("T")

Packed = dict[str, list[list[Any]]]
"""The spans of some sentences, by number: start, end and type."""

LATER = ("lr", "freeze_old_rows", "text_share", "text_limit")
"""Fields of the recipe that mean nothing to a first task."""
ADDED = {"repeat": 1, "prior": "none", "text_share": 1.0, "text_limit": 20_000, "adapter_rank": 0}
"""Fields of the recipe that came when cells had been measured, and the value that changes nothing: with it, a cell is
what it was."""
ADDED_TO_METHODS: dict[str, dict[str, Any]] = {"Retain": {"blend": "none", "swap_share": 0.0}}
"""The same for fields of methods, by the name of the class that has got them; a class has those of its parents too."""
GOLD = "gold.spans.json.gz"
"""The entities of the test set, in the folder of a preset."""


@dataclass(frozen=True)
class Cell:
    """What is measured: one method over the tasks of one setting with one seed."""

    preset: str
    setting: Setting
    name: str
    """The method's name in the table of methods."""
    method: Method
    seed: int
    encoder: str
    recipe: Recipe
    pool: float = 0.0
    """The share of the training sentences that is set aside as text without annotation, before there are slices."""

    def __post_init__(self) -> None:
        """Settle what the recipe leaves to the method: a key must say what was done."""
        if not 0 <= self.pool < 1:
            raise InputError(f"the pool is a share of the training sentences, at least 0 and below 1, not {self.pool}")
        self.recipe.require_moving_encoder(self.method.trainable, self.name)
        object.__setattr__(self, "recipe", self.recipe.resolved(self.method.prior_correction))

    @property
    def title(self) -> str:
        """How a person calls it."""
        return f"{self.setting.name} {self.name} seed {self.seed}"

    @property
    def configuration(self) -> dict[str, Any]:
        """Everything about it that has a default."""
        usual = {"encoder": self.encoder, "recipe": _recipe(self.recipe), "fields": _fields(self.method)}
        return usual | ({"pool": self.pool} if self.pool else {})

    @property
    def variant(self) -> str:
        """What is not the default about it, in words; nothing if nothing is."""
        name, changed = min(((name, self._unlike(name)) for name in RECIPES), key=lambda pair: len(pair[1]))
        fields = _unlike(asdict(self.method), asdict(find_method(self.name)))
        parts = [] if name == "retainer" else [f"recipe {name}"]
        parts += [f"{field}={value}" for field, value in (changed | fields).items()]
        parts += [f"pool={self.pool}"] if self.pool else []
        return ", ".join(parts if self.encoder == "builtin" else [*parts, Path(self.encoder).name])

    def _unlike(self, recipe: str) -> dict[str, Any]:
        usual = RECIPES[recipe].changed({"epochs": self.setting.epochs})
        usual = usual.resolved(self.method.prior_correction)
        return _unlike(asdict(self.recipe), asdict(usual))

    def file(self, out: Path) -> Path:
        """Return its place; what is not the default has its hash in the name."""
        mark = f".{digest(self.configuration)[:8]}" if self.variant else ""
        return out / self.preset / self.setting.name / f"{self.name}{mark}" / f"seed-{self.seed}.json"

    def key(self, plan: Plan) -> str:
        """Return the hash of everything that determines the result."""
        weights = weights_of(self.encoder)
        kind = {"class": _class(self.name, self.method), "quirks": asdict(self.method.quirks)}
        facts = {**self.configuration, "kind": kind, "weights": weights, "plan": plan.outline, "seed": self.seed}
        if self.method.joint:  # every task starts at the encoder, so there are no old rows
            facts["recipe"] = facts["recipe"] | {"freeze_old_rows": False}
        return digest(facts)

    def base_key(self, plan: Plan) -> str:
        """Return the hash of everything that determines the first version, which all methods share."""
        task = {"slice": list(plan.slices[0]), "types": list(plan.groups[0]), "files": plan.outline["files"]}
        recipe = {name: value for name, value in _recipe(self.recipe).items() if name not in LATER}
        return digest({"recipe": recipe, "weights": weights_of(self.encoder), **task, "seed": self.seed})


def _class(name: str, method: Method) -> str:
    """Return the name of a method's class, with its module if it is of another package: those may be named alike."""
    return type(method).__name__ if name in METHODS else class_address(method)


def _recipe(recipe: Recipe) -> dict[str, Any]:
    return _unlike_added(asdict(recipe), ADDED)


def _fields(method: Method) -> dict[str, Any]:
    classes = [ADDED_TO_METHODS.get(one.__name__, {}) for one in type(method).__mro__]
    return _unlike_added(asdict(method), dict(ChainMap(*classes)))


def _unlike_added(found: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the fields that came later and have the value that changes nothing."""
    return {name: value for name, value in found.items() if name not in added or value != added[name]}


def _unlike(found: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value != usual[name]}


def digest(facts: Mapping[str, Any]) -> str:
    """Return the SHA-256 of some facts."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


@lru_cache
def weights_of(encoder: str) -> str:
    """Return the hash of an encoder's weights; of one that only has a name, the name."""
    folder = builtin_folder() if encoder == "builtin" else Path(encoder)
    file = folder / "model.safetensors"
    return sha256(file) if file.is_file() else encoder


def finished_result(file: Path, key: str) -> CellResult | None:
    """Return a cell that was measured before; one that was measured under other conditions is refused."""
    if not file.is_file():
        return None
    result = read_result(file)
    if result.key != key:
        raise InputError(
            f"{file} was measured on other slices, weights or hyper-parameters than these; choose another --out, or "
            f"--rerun, or remove that file"
        )
    return result


def read_result(file: Path) -> CellResult:
    """Read the result of a cell."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        raise InputError(f"{file} is damaged; remove it, and it is measured again") from None
    try:
        return CellResult.of(document)
    except ValueError as error:
        raise InputError(f"{file} is not a cell of a bench ({error}); remove it, and it is measured again") from None


def pack(spans: Sequence[Sequence[Span]]) -> Packed:
    """Write spans by the number of their sentence, as JSON can hold them; most sentences have none."""
    return {str(row): [[s.start, s.end, s.type] for s in found] for row, found in enumerate(spans) if found}


def save_result(file: Path, result: CellResult, found: Sequence[Packed]) -> None:
    """Write a finished cell: first what was found in each sentence, then the file that says it is done."""
    write_bytes(_spans_file(file), _packed({"tasks": found}))
    write_text(file, json.dumps(result.as_dict(), indent=1) + "\n")


def found_spans(file: Path) -> list[dict[int, tuple[Span, ...]]] | None:
    """Return what a cell found after each task, by row of the test set; None where that was not kept."""
    return _unpacked(_spans_file(file), lambda document: [_spans(rows) for rows in document["tasks"]])


def save_gold(folder: Path, sentences: Iterable[Sentence]) -> None:
    """Write the entities of the test set, rows and spans without text: enough to judge spans without the corpus."""
    gold = [sentence.spans for sentence in sentences]
    write_bytes(folder / GOLD, _packed({"sentences": len(gold), "rows": pack(gold)}))


def stored_gold(folder: Path) -> list[tuple[Span, ...]] | None:
    """Return the entities of the test set, sentence by sentence; None where no bench has written them."""
    rows = _unpacked(folder / GOLD, lambda document: (_spans(document["rows"]), int(document["sentences"])))
    return None if rows is None else [rows[0].get(row, ()) for row in range(rows[1])]


def _spans_file(file: Path) -> Path:
    return file.with_suffix(".spans.json.gz")


def _spans(rows: Mapping[str, Any]) -> dict[int, tuple[Span, ...]]:
    return {int(row): tuple(Span(*span) for span in found) for row, found in rows.items()}


def _packed(document: Mapping[str, Any]) -> bytes:
    return gzip.compress(json.dumps(document).encode(), mtime=0)


def _unpacked(file: Path, look: Callable[[Any], T]) -> T | None:
    """Read a packed file and take out of it what is wanted; None where there is none."""
    try:
        return look(json.loads(gzip.decompress(file.read_bytes())))
    except FileNotFoundError:
        return None
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{file} is damaged; remove it") from None
