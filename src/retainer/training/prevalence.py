"""How often a new type is found in sentences as they come, beside how often it is annotated where F1 is measured.

F1 of a type on sentences picked for it flatters (``data.picked``). What would show it is a dev set drawn at random, and
most people have none. Text without annotation, or sentences of the data in which nothing is annotated, show how often
the type is found elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from retainer.data.picked import PICKED, share_having
from retainer.data.spans import Sentence
from retainer.metrics.f1 import spans_by_sentence
from retainer.model.predict import find
from retainer.model.tagger import Tagger
from retainer.plurals import sentences as count_sentences
from retainer.training.learn_task import LearnTask

MOST_LOOKED_AT = 1_000
"""Sentences to look at: a share of so many is known to three points."""
LEAST_LOOKED_AT = 20
"""Fewer sentences than this tell no share."""
RARER = 2 / 3
"""A type is rarer in some text if it is found in less than this share of what is annotated."""


def prevalence(student: Tagger, task: LearnTask) -> dict[str, Any]:
    """Return, by new type, the percentage of sentences it is annotated in and of those it is found in elsewhere."""
    where, elsewhere = _elsewhere(task)
    measured = task.measured_on if task.dev_given else task.corpus
    found = _found(student, elsewhere, task.new)
    types = {
        type_: {
            "annotated": 100 * share_having(measured.sentences, [type_]),
            "found": 100 * share_having(found, [type_]) if found else None,
        }
        for type_ in task.new
    }
    return {"where": where, "sentences": len(found), "annotated_sentences": len(measured), "types": types}


def _elsewhere(task: LearnTask) -> tuple[str, Sequence[Sentence]]:
    """Return the text of a task or, where there is too little, the sentences of its data without any annotation."""
    if task.text is not None and len(task.text) >= LEAST_LOOKED_AT:
        return "text", task.text.sentences
    bare = [sentence for sentence in task.corpus if not sentence.spans]
    return "data", bare if len(bare) >= LEAST_LOOKED_AT else ()


def _found(student: Tagger, sentences: Sequence[Sentence], types: Sequence[str]) -> list[Sentence]:
    """Return some of the sentences, spread evenly, with what the student finds in them."""
    some = sentences[:: -(-len(sentences) // MOST_LOOKED_AT) or 1]
    if not some:
        return []
    spans, tagged = find(student, some, types)
    found = spans_by_sentence(spans, tagged.sentence_starts, types)
    return [sentence.with_spans(own) for sentence, own in zip(some, found, strict=True)]


def prevalence_in_words(facts: Mapping[str, Any], dev_given: bool) -> list[str]:
    """Write a warning for every type whose F1 flatters, and what to do; of a few sentences no share is known.

    ``dev_given`` says whether the annotated sentences are those of a dev file.
    """
    if facts["annotated_sentences"] < LEAST_LOOKED_AT:
        return []
    flattering = {type_: one for type_, one in facts["types"].items() if _flatters(one, facts["where"])}
    return [_warning(type_, one, facts, dev_given) for type_, one in flattering.items()]


def _flatters(one: Mapping[str, Any], where: str) -> bool:
    """Return whether a type is rarer in the text; without text, whether the sentences look picked for it."""
    if where == "text":
        return bool(one["found"] < RARER * one["annotated"])
    return bool(one["annotated"] > 100 * PICKED)


def _warning(type_: str, one: Mapping[str, Any], facts: Mapping[str, Any], dev_given: bool) -> str:
    """Write one warning; what is found in training sentences says nothing, so only text is set beside the share."""
    has_text = facts["where"] == "text"
    file, draw = (
        ("the dev file", "draw its sentences at random")
        if dev_given
        else ("DATA", "draw sentences at random for a dev set (--dev)")
    )
    have = f"{one['annotated']:.0f} % of the sentences in {file} have it"
    elsewhere = _in_text(one, facts) if has_text else ""
    remedies = [draw, f"add sentences without {type_}", *([] if has_text else ["give texts as they come (--text)"])]
    advice = f"{', '.join(remedies[:-1])} or {remedies[-1]}"
    return f"F1 of {type_} may flatter: {have}{elsewhere}; {advice}"


def _in_text(one: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    return f", and it is found in {one['found']:.0f} % of {count_sentences(facts['sentences'])} of text"
