"""Odd annotation: too little of it, the same text annotated in two ways, edges that look like mistakes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from retainer.data.checks.finding import EXAMPLES_SHOWN, Finding, name_sentences, quote_words
from retainer.data.corpus import Corpus
from retainer.data.spans import Sentence, Span
from retainer.data.tasks import say_complete
from retainer.data.words import Offset
from retainer.errors import quoted, shortened

_FEW_ENTITIES = 20
"""Fewer entities than this teach a type badly."""
_ANNOTATED_OFTEN = 3
"""A text annotated this often is expected to be annotated wherever it occurs."""
_LONGEST_MENTION = 50
"""Longer texts are not searched for: they are no names, and every word would be compared with all of their words."""

Surface = tuple[str, ...]
"""The words of an entity or of a text, whatever sentence they stand in."""


def rare_types(corpus: Corpus) -> Iterator[Finding]:
    """Find types with too few entities to be learned well."""
    for type_, count in sorted(corpus.counts.items()):
        if count < _FEW_ENTITIES:
            advice = f"annotate more; {_FEW_ENTITIES} is little, 200 is comfortable"
            yield Finding(f"few entities of type {shortened(type_)}", count, advice, weight="mend")


def no_entities(corpus: Corpus) -> Iterator[Finding]:
    """Find a corpus without any entity."""
    if not corpus.counts:
        advice = "is the tag the last column, and are the spans under the expected key?"
        yield Finding("no entity at all", 0, advice, weight="mend")


def duplicate_texts(corpus: Corpus, show: int = EXAMPLES_SHOWN) -> Iterator[Finding]:
    """Find sentences that occur twice."""
    texts = Counter(sentence.words for sentence in corpus)
    repeated = sum(count - 1 for count in texts.values())
    if repeated:
        common = [f"{count} times: {' '.join(words)[:60]!r}" for words, count in texts.most_common(show) if count > 1]
        advice = "harmless, unless they are also in your test set"
        yield Finding("sentences that repeat an earlier one", repeated, advice, common, "note")


def conflicting_annotations(corpus: Corpus, show: int = EXAMPLES_SHOWN) -> Iterator[Finding]:
    """Find texts annotated in two ways."""
    rows: dict[Surface, dict[tuple[Span, ...], int]] = defaultdict(dict)
    for row, sentence in enumerate(corpus, 1):
        rows[sentence.words].setdefault(sentence.spans, row)
    conflicts = [list(annotations.values()) for annotations in rows.values() if len(annotations) > 1]
    if conflicts:
        examples = [name_sentences(where, show) for where in conflicts[:show]]
        yield Finding(
            "texts annotated in different ways", len(conflicts), "decide which one is right", examples, "mend"
        )


def missed_mentions(corpus: Corpus, show: int = EXAMPLES_SHOWN) -> Iterator[Finding]:
    """Find what is annotated in one place and not in another: an O on an entity teaches the model not to find it."""
    known: dict[Surface, Counter[str]] = defaultdict(Counter)
    for sentence in corpus:
        for span in (span for span in sentence.spans if span.end - span.start <= _LONGEST_MENTION):
            known[sentence.words[span.start : span.end]][span.type] += 1
    known = {
        words: types for words, types in known.items() if types.total() >= _ANNOTATED_OFTEN and _has_letters(words)
    }
    missed_in = _missed_rows(corpus, known)
    by_type: dict[str, list[Surface]] = defaultdict(list)
    for words, rows in missed_in.items():
        if len(rows) < known[words].total():
            by_type[known[words].most_common(1)[0][0]].append(words)
    for type_, texts in sorted(by_type.items()):
        texts.sort(key=lambda words: -len(missed_in[words]))
        yield Finding(
            f"texts that are usually {shortened(type_)}, but not annotated",
            sum(len(missed_in[words]) for words in texts),
            f"annotate those that are {shortened(type_)}: an O teaches the model that they are not",
            [
                f"{quoted(' '.join(words))}: annotated {known[words].total()} times, not in "
                + name_sentences(missed_in[words], show)
                for words in texts[:show]
            ],
        )


def _missed_rows(corpus: Corpus, known: Mapping[Surface, Counter[str]]) -> dict[Surface, list[int]]:
    """Return the sentences in which a known text is no entity, by text; not those that leave its type open."""
    rows: dict[Surface, list[int]] = defaultdict(list)
    lengths = _lengths(known)
    for row, sentence in enumerate(say_complete(corpus), 1):
        for words in _unannotated_mentions(sentence, known, lengths):
            if sentence.complete is None or known[words].most_common(1)[0][0] in sentence.complete:
                rows[words].append(row)
    return rows


def _lengths(known: Iterable[Surface]) -> dict[str, list[int]]:
    """Return the lengths of the texts that begin with a word, the longest first; no others are looked for there."""
    found: dict[str, set[int]] = defaultdict(set)
    for words in known:
        found[words[0]].add(len(words))
    return {word: sorted(lengths, reverse=True) for word, lengths in found.items()}


def _unannotated_mentions(
    sentence: Sentence, known: Container[Surface], lengths: Mapping[str, Sequence[int]]
) -> Iterator[Surface]:
    """Walk over the known texts of a sentence that touch no entity, the longest first at each word."""
    taken = {at for span in sentence.spans for at in range(span.start, span.end)}
    at = 0
    while at < len(sentence.words):
        ends = (at + length for length in lengths.get(sentence.words[at], ()))
        end = next((end for end in ends if sentence.words[at:end] in known), at)
        if end > at and taken.isdisjoint(range(at, end)):
            yield sentence.words[at:end]
        at = max(end, at + 1)


def _has_letters(words: Surface) -> bool:
    return sum(character.isalpha() for word in words for character in word) > 1


def odd_edges(corpus: Corpus, show: int = EXAMPLES_SHOWN) -> Iterator[Finding]:
    """Find entities whose edges look like a mistake of the annotator."""
    marks, halves = [], []
    for row, sentence in enumerate(corpus, 1):
        located = sentence.located() if sentence.spans else ("", ())
        for span in sentence.spans:
            if _ends_in_a_mark(sentence, span):
                marks.append(f"sentence {row}: {quote_words(sentence, span.start, span.end)}")
            if _cuts_a_word(*located, span):
                halves.append(f"sentence {row}: {quote_words(sentence, span.start, span.end)}")
    if marks:
        advice = "leave the mark outside, unless it belongs to the name"
        yield Finding("entities that begin or end with a punctuation mark", len(marks), advice, marks[:show])
    if halves:
        advice = "let them end where the word ends, unless that is meant"
        yield Finding("entities that begin or end inside a word", len(halves), advice, halves[:show])


def _ends_in_a_mark(sentence: Sentence, span: Span) -> bool:
    outer = (sentence.words[span.start], sentence.words[span.end - 1])
    return any(not any(character.isalnum() for character in word) for word in outer)


def _cuts_a_word(text: str, offsets: Sequence[Offset], span: Span) -> bool:
    first, last = offsets[span.start][0], offsets[span.end - 1][1]
    return any(0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum() for at in (first, last))
