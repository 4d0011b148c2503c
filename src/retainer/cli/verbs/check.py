"""`retainer check`."""

from __future__ import annotations

from typing import Any

from retainer.cli.columns import Columns
from retainer.cli.output import note, one_line, say, say_json
from retainer.data.checks import EXAMPLES_SHOWN, WEIGHT_MEANINGS, Finding, findings, type_clashes, unreadable_scripts
from retainer.data.corpus import Corpus
from retainer.data.io import read
from retainer.errors import InputError
from retainer.plurals import amount, sentences


def check(
    data: str,
    /,
    *,
    model: str | None = None,
    show: int = EXAMPLES_SHOWN,
    json: bool = False,
    device: str = "auto",
    columns: Columns = {},  # noqa: B006 (never changed)
) -> None:
    """Report what is in an annotated file and what is odd about it, before training on it.

    :param data: annotated file or folder in any format of docs/formats.md; detected from the content
    :param model: the model that is to learn it; separates old types from new, finds clashes and words it cannot read
    :param show: places to list per finding; a large number lists all
    :param json: print one JSON document
    :param device: auto, cpu or cuda
    :param columns: {columns}
    """
    if show < 0:
        raise InputError(f"--show {show}: expected 0 or more")
    corpus = read(data, columns=columns)
    known, beside = (None, []) if model is None else _beside(corpus, model, device, show)
    found = [*findings(corpus, known or (), show), *beside]
    found.sort(key=lambda finding: list(WEIGHT_MEANINGS).index(finding.weight))
    facts = _facts(corpus, known)
    if json:
        say_json({**facts, "findings": [finding.as_dict() for finding in found]})
    else:
        say(_text(facts, found))
        if any(0 < len(finding.examples) == show < finding.count for finding in found):
            note(f"places listed of each finding: at most {show}; --show 100 lists more")


def _beside(corpus: Corpus, model: str, device: str, show: int) -> tuple[tuple[str, ...], list[Finding]]:
    """Look at a corpus with the eyes of a model: the types it knows, and what does not go together."""
    from retainer.versions.version import load

    version = load(model, device=device)
    tokenize = version.tagger.tokenize
    found = list(unreadable_scripts(corpus, tokenize.by_word(corpus.sentences), tokenize.tokenizer.unk_token_id, show))
    if version.learned_types:
        found += type_clashes(corpus, version.tag(corpus.sentences), version.learned_types, show)
    return version.learned_types, found


def _facts(corpus: Corpus, known: tuple[str, ...] | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "data": corpus.source,
        "format": corpus.format,
        "scheme": corpus.scheme,
        "sentences": len(corpus),
        "words": sum(len(sentence.words) for sentence in corpus),
        "entities": dict(sorted(corpus.counts.items())),
    }
    if corpus.complete is not None:
        facts["complete"] = dict(sorted(corpus.complete.items()))
    if known is not None:
        old = set(known)
        facts["new_types"] = [type_ for type_ in corpus.types if type_ not in old]
        facts["old_types"] = [type_ for type_ in corpus.types if type_ in old]
    return facts


def _text(facts: dict[str, Any], found: list[Finding]) -> str:
    scheme = f", {facts['scheme']}" if facts["scheme"] else ""
    lines = [
        f"{facts['data']}: {facts['format']}{scheme}, {sentences(facts['sentences'])}, {amount(facts['words'], 'word')}"
    ]
    unknown = set(facts.get("new_types", ()))
    for type_, count in facts["entities"].items():
        new = " (new to the model)" if type_ in unknown else ""
        complete = f", complete in {sentences(facts['complete'].get(type_, 0))}" if "complete" in facts else ""
        lines.append(f"  {count:7} {one_line(type_)}{new}{complete}")
    for weight, meaning in WEIGHT_MEANINGS.items():
        for finding in (one for one in found if one.weight == weight):
            times = f"{finding.count} × " if finding.count else ""
            lines.append(f"\n{meaning}: {times}{one_line(finding.what)}")
            lines.extend(f"    {one_line(text)}" for text in (finding.advice, *map(str, finding.examples)))
    return "\n".join(lines if found else [*lines, "\nnothing odd was found"])
