"""The model card of a version: what it knows, how well, how it came about, and what it cannot do.

It is a README.md as the Hugging Face hub reads it. Everything in it comes from the record; a name of a type may hold
any character, so each name is escaped before it gets into Markdown or YAML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from retainer.metrics.few import is_few
from retainer.plurals import entities, sentences
from retainer.versions.history import (
    Origin,
    RecordedScores,
    describe_prior,
    describe_version,
    is_set_aside,
    learned_last,
    origins,
    short_hash,
    versions_of,
)
from retainer.versions.lineage import Lineage

_HUB_TAGS = ("token-classification", "named-entity-recognition", "ner", "continual-learning", "retainer")

_USE = """\
```python
from transformers import pipeline

tagger = pipeline("token-classification", model="PATH/TO/THIS/FOLDER", aggregation_strategy="first")
print(tagger("some text"))
```

Nothing but `transformers` is needed. `retainer predict` finds the same entities, and in texts of any length."""

_USE_WITH_OWN_LABELS = """\
```sh
retainer predict PATH/TO/THIS/FOLDER "some text"
retainer export PATH/TO/THIS/FOLDER --plain PLAIN       # the same model, for transformers' pipeline
```

The labels are those of the model it began with, and not only B- and I-. transformers' pipeline loads the folder, but
returns entities in pieces; the folder `export --plain` writes gives it the same entities as `retainer predict`."""

_LIMITS = (
    "Entities are flat: none lies inside another.",
    "A score is the probability the model gives to its own answer. `retainer predict --calibrated` corrects it for "
    "types that had enough entities to measure it on.",
    "Language, domain and blind spots are those of the data it was taught with. Nothing was done to look for bias.",
    "F1 above may be the figure the epoch was chosen by, and then flatters. Measure on data of your own: "
    "`retainer evaluate FOLDER DATA`.",
)
_MEMORY = (
    "The folder holds language models of the training sentences (`generators/`), and the words of these sentences are "
    "in them. Treat it like the data."
)


def card(lineage: Lineage, name: str, remembers: bool = False, *, piped: bool = True) -> str:
    """Write the card of a version called ``name``; ``remembers`` says that it holds language models.

    ``piped`` says whether its labels are B- and I- alone, which is all that transformers' pipeline reads.
    """
    chain = versions_of(lineage)
    known = origins(lineage)
    parts = {
        f"{escape_markdown(name)}: finds {_list(known) or 'nothing'}": [_summary(lineage)],
        "Types": [_means(lineage, known), _types(lineage, known)],
        "Use": [_USE if piped else _USE_WITH_OWN_LABELS],
        "How it came about": [_made(lineage), _versions(chain)],
        "Limits": [_limits(lineage, known, remembers)],
    }
    body = "\n\n".join(
        f"{'##' if number else '#'} {title}\n\n" + "\n\n".join(part for part in texts if part)
        for number, (title, texts) in enumerate(parts.items())
    )
    front = yaml.safe_dump(_front(lineage, name, known), sort_keys=False, allow_unicode=True, width=2**16)
    return f"---\n{front}---\n\n{body}\n"


def escape_markdown(text: str) -> str:
    """Write any text so that Markdown shows it as it is, in a table too; a line must not begin with it."""
    return re.sub(r"([\\`*_\[\]<>#|~&$/@])", r"\\\1", on_one_line(text))


def on_one_line(text: str) -> str:
    """Put a text on one line, without characters that do not print."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _list(types: Iterable[str]) -> str:
    return ", ".join(escape_markdown(type_) for type_ in types)


# --------------------------------------------------------------------------------------------------- for the hub


def _front(lineage: Lineage, name: str, known: Mapping[str, Origin]) -> dict[str, Any]:
    """Return what the hub reads."""
    front: dict[str, Any] = {
        "library_name": "transformers",
        "pipeline_tag": "token-classification",
        "tags": list(_HUB_TAGS),
    }
    if lineage.base_model:
        front["base_model"] = on_one_line(lineage.base_model)
    last = learned_last(lineage)
    metrics = [
        {"type": kind, "value": round(origin.now[kind] / 100, 4), "name": f"{kind} of {on_one_line(type_)}"}
        for type_, origin in known.items()
        for kind in ("precision", "recall", "f1")
        if origin.now
    ]
    if last and metrics:
        front |= {"metrics": ["precision", "recall", "f1"], "model-index": [_results(last, name, metrics)]}
    return front


def _results(lineage: Lineage, name: str, metrics: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the scores as the hub wants them: shares of one, each with its name, and what they were measured on."""
    part = "part of the training data set aside" if is_set_aside(lineage) else "dev set"
    data = {"name": f"{part}, SHA-256 {short_hash(lineage.data['dev_sha256'])}", "type": "unknown", "split": "dev"}
    task = {"type": "token-classification", "name": "Named entity recognition"}
    return {
        "name": on_one_line(name) or "retainer",
        "results": [{"task": task, "dataset": data, "metrics": list(metrics)}],
    }


# --------------------------------------------------------------------------------------------------- for people


def _summary(lineage: Lineage) -> str:
    old = [type_ for task in lineage.tasks[:-1] for type_ in task if type_ not in lineage.again]
    what = escape_markdown(describe_version(lineage))
    kept = f" and was to keep {_list(old)}" if old and not lineage.change else ""
    begin = lineage.base_model or lineage.encoder
    came = f" The chain of versions began with {escape_markdown(begin)}." if begin else ""
    return (
        f"A token classifier made with `retainer`, which teaches a named-entity recogniser new types without the data "
        f"of the old ones. This version {what}{kept}.{came}"
    )


def _where(lineage: Lineage) -> str:
    """Say what the last training was measured on: a dev file, or what `learn` set aside of its own data."""
    last = learned_last(lineage)
    return "what was set aside" if last and is_set_aside(last) else "dev"


def _means(lineage: Lineage, known: Mapping[str, Origin]) -> str:
    """Report what the last training gained, kept and forgot, as far as it was measured."""
    new = [origin.now["f1"] for origin in known.values() if origin.now and not origin.before]
    old = [(origin.before["f1"], origin.now["f1"]) for origin in known.values() if origin.before and origin.now]
    if not new and not old:
        return "No score was measured."
    lines = [f"- **gain** (new types, mean F1 on {_where(lineage)}): {_mean(new)}"]
    if old:
        lines += [
            f"- **keep** (old types, mean F1 on the same sentences): {_mean([after for _, after in old])}",
            f"- **forget** (what the old types lost by it): {_mean([before - after for before, after in old])} points",
        ]
    kept, there = _agreed(known)
    if there:
        percentage = "" if is_few(there) else f"{100 * kept / there:.2f} %, "
        share = f"{percentage}{kept} of {entities(there)}"
        lines.append(f"- **agreement** (what the previous version found in these sentences, still found): {share}")
    elif not old and any(origin.now is None for origin in known.values()):
        lines.append(f"- **keep** and **forget**: not measured, because no old type is annotated in {_where(lineage)}")
    return "\n".join(lines)


def _agreed(known: Mapping[str, Origin]) -> tuple[int, int]:
    """Count the entities of the previous version that are kept, and all that could have been."""
    fates = [origin.fate for origin in known.values() if origin.fate]
    return sum(one["kept"] for one in fates), sum(_there(one) for one in fates)


def _there(fate: Mapping[str, Any]) -> int:
    """Count the entities to keep: given and corrected ones contradict the annotation, so they should not be found."""
    return int(fate["found"] - fate["given"] - fate["corrected"])


def _mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.2f}" if values else "not measured"


def _types(lineage: Lineage, known: Mapping[str, Origin]) -> str:
    rows = [
        (
            escape_markdown(type_),
            f"version {origin.version}" if origin.version else "before the first version",
            _number(origin.then),
            _number(origin.before),
            _number(origin.now),
            str(origin.now["support"]) if origin.now else "",
            f"{origin.fate['kept']} of {_there(origin.fate)}" if origin.fate else "",
            escape_markdown(_story(lineage, type_, origin)),
        )
        for type_, origin in known.items()
    ]
    head = ("type", "learned in", "F1 when learned", "F1 before", "F1 now", "entities", "still found", "remarks")
    legend = (
        f"F1 of whole entities, in percent; F1 now is that on {_where(lineage)}, in which there are so many entities. "
        "Still found: what the previous version found in these sentences, "
        "less what the annotation contradicts. Empty: not measured."
    )
    return f"{_table(head, rows)}\n\n{legend}"


def _story(lineage: Lineage, type_: str, origin: Origin) -> str:
    waits = "waits to be learned" if type_ in lineage.pending else ""
    return "; ".join(part for part in (origin.story, waits) if part)


def _made(lineage: Lineage) -> str:
    """Describe how the last step was made, and from what."""
    if lineage.change:
        return "The last step changed the names of labels and rows of the head; nothing was trained."
    data, scores = lineage.data, lineage.scores
    rows = {
        "method": f"{lineage.method}{_fields(lineage.fields)}",
        "data": f"{sentences(data.get('sentences', 0))}, SHA-256 {short_hash(data.get('sha256', ''))}",
        "entities": ", ".join(f"{count} {on_one_line(type_)}" for type_, count in data.get("entities", {}).items()),
        "exemplars": _exemplars(data.get("exemplars")),
        "text": _text(data.get("text")),
        "dev": sentences(data.get("dev_sentences", 0)),
        "prior correction": describe_prior(lineage.prior, lineage.blend),
        "epoch": f"{scores.get('epoch', '')} of {len(scores.get('history', ()))}",
        "recipe": _fields({**lineage.recipe, **({"batch": scores["batch"]} if "batch" in scores else {})}).strip(" ()"),
        "seed": str(lineage.seed),
        "made": lineage.created,
        "with": ", ".join(f"{package} {version}" for package, version in lineage.versions.items()),
    }
    table = _table(("", ""), [(name, escape_markdown(value)) for name, value in rows.items() if value])
    return f"In the data, O means that nothing is annotated, not that there is no entity.\n\n{table}"


def _exemplars(exemplars: Mapping[str, Any] | None) -> str:
    """Describe the sentences of old types that were kept, if any."""
    if not exemplars:
        return ""
    counts = ", ".join(f"{count} {on_one_line(type_)}" for type_, count in exemplars["entities"].items())
    return f"{sentences(exemplars['sentences'])} ({counts}), SHA-256 {short_hash(exemplars['sha256'])}"


def _text(text: Mapping[str, Any] | None) -> str:
    """Describe the text without annotation, if there was any."""
    return f"{sentences(text['sentences'])} without annotation, SHA-256 {short_hash(text['sha256'])}" if text else ""


def _versions(chain: Sequence[Lineage]) -> str:
    """List the versions, newest first."""
    rows = []
    for number, one in reversed(list(enumerate(chain, 1))):
        size = sentences(one.data["sentences"]) if one.data else ""
        mark, what = f"`{short_hash(one.own_hash)}`", escape_markdown(describe_version(one))
        rows.append((str(number), mark, what, one.method, size, one.created[:10]))
    return _table(("version", "hash", "what", "method", "data", "day"), rows)


def _limits(lineage: Lineage, known: Mapping[str, Origin], remembers: bool) -> str:
    unknown = [type_ for type_, origin in known.items() if not origin.now]
    limits = list(_LIMITS)
    if unknown:
        limits.insert(0, f"This version was not measured on {_list(unknown)}: older scores may no longer hold.")
    if lineage.pending:
        limits.insert(0, f"Made by a split and not learned yet: {_list(lineage.pending)}. Only the first is found.")
    if remembers:
        limits.append(_MEMORY)
    return "\n".join(f"- {one}" for one in limits)


def _fields(fields: Mapping[str, Any]) -> str:
    return f" ({', '.join(f'{name} {value}' for name, value in fields.items())})" if fields else ""


def _number(scores: RecordedScores | None) -> str:
    return "" if scores is None else f"{scores['f1']:.2f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
