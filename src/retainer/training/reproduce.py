"""Reproducing a run: the arguments of `learn` out of the record of the version it made.

A record has everything that determines a version except the data, of which it has the fingerprints; it has no paths,
because those are private. So the user says where the data are, and a note or a refusal follows if they differ.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retainer.data.plugins import is_plugin_address
from retainer.errors import InputError
from retainer.methods import METHODS
from retainer.methods.plugins import method_address
from retainer.runtime import versions
from retainer.training.progress import Progress
from retainer.versions.history import describe_change, short_hash
from retainer.versions.lineage import RECORD_FILE, Lineage
from retainer.versions.own_files import parse_json

FLAG = "--config"

_BESIDE = {
    "exemplars": ("exemplars", "the exemplars differ"),
    "text": ("sentences of text", "the text differs"),
}
"""What may be given beside DATA, what its sentences are called, and how to say that they are others."""


def expanded(argv: Sequence[str]) -> tuple[list[str], str | None]:
    """Put what a record says in the place of --config RECORD, before everything else: what comes later wins.

    Return also the path of the record; where there is none, --config is a matter of YAML and of the parser.
    """
    given = list(argv)
    for at, word in enumerate(given):
        value = given[at + 1] if word == FLAG and at + 1 < len(given) else word.partition(f"{FLAG}=")[2]
        if (path := _record_file(value)) is not None:
            rest = given[:at] + given[at + (2 if word == FLAG else 1) :]
            return [*_arguments(record_of(path), path.parent, rest), *rest], str(path)
    return given, None


def _record_file(value: str) -> Path | None:
    """Return the path of a record: that of a folder, or a file that is one."""
    path = Path(value) / RECORD_FILE if value and os.path.isdir(value) else Path(value)
    if not value or not os.path.isfile(path):  # unlike those of a Path, these take a name that is too long
        return None
    if path.name == RECORD_FILE:
        return path
    try:
        found = parse_json(path.read_bytes())
    except ValueError:
        return None
    return path if isinstance(found, dict) and {"tasks", "weights"} <= found.keys() else None


def record_of(path: str | Path) -> Lineage:
    """Read a record that a run can be repeated from."""
    try:
        record = Lineage.of(parse_json(Path(path).read_bytes()))
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}) and cannot be reproduced") from None
    if record.change:
        raise InputError(
            f"{path} is of a version that was not learned ({describe_change(record.change)}); there is no run to repeat"
        )
    if not record.recipe:
        raise InputError(f"{path} does not say how the version was learned, so there is nothing to repeat")
    return record


def _arguments(record: Lineage, folder: Path, rest: Sequence[str]) -> list[str]:
    """Write a record as arguments; a method or a recipe that is given on the command line takes its own numbers."""
    fields = {} if _has(rest, "--method") and not _names_plugin(record, rest) else record.fields
    recipe = {} if _has(rest, "--recipe") else record.recipe
    made = [*_method_argument(record, rest), f"--seed={record.seed}"]
    made += [f"--set.{name}={_text(value)}" for name, value in {**recipe, **fields}.items()]
    types = [*record.tasks[-1], *record.again]
    if set(types) == set(record.data.get("entities", ())) and not any("," in type_ for type_ in types):
        made.append(f"--types={','.join(types)}")  # else some were found in the data and never named
    if not _has(rest, "--from"):
        made.append(f"--from={_start(record, folder)}")
    return made


def _method_argument(record: Lineage, rest: Sequence[str]) -> list[str]:
    """Name the method, unless it is of another package: a record runs no code, so the user must name that again."""
    if not is_plugin_address(record.method):
        return [f"--method={_method(record.method)}"]
    if not _has(rest, "--method"):
        raise InputError(
            f"the version was learned with {record.method}, a method of another package, and a record runs no code; "
            f"if you trust it, name it again: --method {record.method}"
        )
    return []


def _names_plugin(record: Lineage, rest: Sequence[str]) -> bool:
    """Say whether the command line names the method of another package that a record names, by class or entry point."""
    given = [*rest, ""]
    names = [given[at + 1] if word == "--method" else word.partition("--method=")[2] for at, word in enumerate(rest)]
    name = next((name for name in reversed(names) if name), "")
    return is_plugin_address(record.method) and method_address(name) == record.method


def _has(argv: Sequence[str], flag: str) -> bool:
    return any(word == flag or word.startswith(f"{flag}=") for word in argv)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _method(name: str) -> str:
    """Return the name of a method; one with fields of its own is recorded by its class."""
    return (
        name
        if name in METHODS
        else next((key for key, method in METHODS.items() if type(method).__name__ == name), name)
    )


def _start(record: Lineage, folder: Path) -> str:
    """Find the version a run started from: by its hash beside the record, by its name there, or on the hub."""
    from retainer.versions.rollback import versions_beside

    if record.parent_hash and (found := versions_beside(folder).get(record.parent_hash)):
        return str(found)
    if not record.parent_hash and record.parent_name and (folder.parent / record.parent_name).is_dir():
        return str(folder.parent / record.parent_name)
    if len(record.tasks) == 1 and record.encoder == "builtin":
        return "builtin"
    if not record.parent_hash and not record.parent_files and record.parent_name == record.base_model != "":
        return record.parent_name
    called = f" ({record.parent_name}, {short_hash(record.parent_hash or record.parent)})" if record.parent_name else ""
    raise InputError(
        f"the version that {folder} was learned from{called} does not lie beside it; say where it is (--from), or "
        f"write it again first (retainer rollback)"
    )


@dataclass(frozen=True)
class Reproduction:
    """A record to repeat, and whether other data or another parent will do."""

    record: Lineage
    anyway: bool = False

    def require_prior_source(self, given: Collection[str]) -> None:
        """Refuse a run without the dev file or the text that the prior was corrected on.

        A request cannot be resolved without it, so this comes before ``check``.
        """
        then, source = self.record.data, self.record.recipe.get("prior")
        had = {"dev": [_had_dev(then)], "text": _beside("text", then, {})}
        if source in had and source not in given:
            self._refuse(had[source])

    def check(self, facts: Mapping[str, Any], parent_hash: str, progress: Progress) -> None:
        """Refuse what cannot give the same version, unless --anyway was given; note what else differs."""
        name = f"version {short_hash(self.record.own_hash)}"
        if other := self._other(facts, parent_hash):
            progress.note(self._refuse(other))
        if self._chosen() != facts["data"]["dev_chooses"]:
            rule = "the epoch is chosen on the dev set" if facts["data"]["dev_chooses"] else "the last epoch is kept"
            progress.note(f"{name} chose its epoch differently; here {rule}, so the result differs")
        if changed := self._changed(facts):
            progress.note(f"not the settings of {name}: {', '.join(changed)}")
        then, now = self.record.versions, versions("peft")
        others = {one: now.get(one, "none") for one, old in then.items() if now.get(one) != old}
        if newer := [f"{one} {then[one]} (here {here})" for one, here in others.items()]:
            progress.note(f"{name} was made with {', '.join(newer)}; the last bits may differ")

    def _refuse(self, differences: Sequence[str]) -> str:
        """Return what is not as it was, in words; refuse it unless --anyway was given."""
        name = f"version {short_hash(self.record.own_hash)}"
        difference = f"this is not what {name} was learned from: {'; '.join(differences)}"
        if not self.anyway:
            raise InputError(f"{difference}; to learn with the same settings all the same, add --anyway")
        return difference

    def _other(self, facts: Mapping[str, Any], parent_hash: str) -> list[str]:
        """Name what goes into the run and is not what it was."""
        record, then, now = self.record, self.record.data, facts["data"]
        found = []
        if facts["parent"] != record.parent or (record.parent_hash and parent_hash != record.parent_hash):
            found.append(f"the model to start from (--from) is not {record.parent_name or 'the same'}")
        if then.get("dev_given", now["dev_given"]) != now["dev_given"]:
            found.append(_had_dev(then) if then["dev_given"] else "it had no --dev")
        elif now["sha256"] != then["sha256"]:
            found.append(f"DATA {_counted(then, now)}")
        elif now["dev_sha256"] != then["dev_sha256"]:
            found.append("the dev set differs")
        return [*found, *_beside("exemplars", then, now), *self._other_text(facts)]

    def _other_text(self, facts: Mapping[str, Any]) -> list[str]:
        """Say how the text differs. Other settings draw other sentences of the same text, and are told anyway."""
        record, recipe = self.record, facts["recipe"]
        settled = all(record.recipe.get(name) == recipe[name] for name in ("epochs", "text_share", "text_limit"))
        drawn_alike = settled and record.seed == facts["seed"]
        both = "text" in record.data and "text" in facts["data"]
        return [] if both and not drawn_alike else _beside("text", record.data, facts["data"])

    def _chosen(self) -> bool:
        """Say whether the epoch was chosen on the dev set; old records do not say it, but have the score it was by."""
        return bool(self.record.data.get("dev_chooses", self.record.scores.get("dev") is not None))

    def _changed(self, facts: Mapping[str, Any]) -> list[str]:
        """Name the settings that have another value."""
        record, plain = self.record, json.loads(json.dumps(dict(facts)))
        then: dict[str, Any] = {
            "method": record.method,
            "seed": record.seed,
            "types": [*record.tasks[-1], *record.again],
        }
        now: dict[str, Any] = {
            "method": plain["method"],
            "seed": plain["seed"],
            "types": [*plain["new"], *plain["again"]],
        }
        same_method = _method(then["method"]) == _method(now["method"])
        then |= {**record.recipe, **(record.fields if same_method else {})}
        now |= {**plain["recipe"], **(plain["fields"] if same_method else {})}
        return [
            f"{name} {now[name]} instead of {then[name]}" for name in then if name in now and now[name] != then[name]
        ]


def _had_dev(then: Mapping[str, Any]) -> str:
    return f"it had a dev set of {then.get('dev_sentences')} sentences (--dev)"


def _beside(what: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Say how sentences differ that are given beside DATA, if they do."""
    called, differ = _BESIDE[what]
    old, new = then.get(what), now.get(what)
    if old is None or new is None:
        missing = f"it had {old['sentences']} {called} (--{what})" if old else f"it had no --{what}"
        return [] if old == new else [missing]
    return [] if old["sha256"] == new["sha256"] else [differ]


def _counted(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Say how data differ, as far as counts show."""
    for what in ("sentences", "entities"):
        if then[what] != now[what]:
            return f"has {_plain(now[what])} {what} to learn from instead of {_plain(then[what])}"
    return "has as many sentences and entities, but other ones"


def _plain(count: Any) -> str:
    return str(sum(count.values())) if isinstance(count, Mapping) else str(count)
