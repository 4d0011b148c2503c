"""Odd annotation: too little of it, the same text annotated in two ways, edges that look like mistakes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from retainer.data.checks.finding import EXAMPLES_SHOWN, Finding
from retainer.data.corpus import Corpus
from retainer.data.picked import picked_for
from retainer.data.place import Place, place_in, place_of, quoted_words
from retainer.data.scarcity import ANNOTATE_MORE, FEW_SENTENCES, FEW_TO_LEARN_FROM, WHAT_TO_EXPECT
from retainer.data.spans import Sentence, Span
from retainer.data.tasks import say_complete
from retainer.data.words import word_offsets
from retainer.errors import shortened

_ANNOTATED_OFTEN = 3
"""A text annotated this often is expected to be annotated wherever it occurs."""
CUT_WORDS = "entities that begin or end inside a word"
"""What the reader of running text notices too, and can name by its line alone."""
_LONGEST_MENTION = 50
"""Longer texts are not searched for: they are no names, and every word would be compared with all of their words."""

Surface = tuple[str, ...]
"""The words of an entity or of a text, whatever sentence they stand in."""


def rare_types(corpus: Corpus, show: int = EXAMPLES_SHOWN) -> Iterator[Finding]:
    """Find types with too few entities to be learned well."""
    rare = {type_: list[Place]() for type_, count in sorted(corpus.counts.items()) if count < FEW_TO_LEARN_FROM}
    for row, sentence in enumerate(corpus if rare else (), 1):
        for span in (span for span in sentence.spans if span.type in rare):
            rare[span.type].append(place_in(sentence, row, span.start, span.end))
    for type_, places in rare.items():
        advice = f"{WHAT_TO_EXPECT}; {ANNOTATE_MORE}"
        yield Finding(f"few entities of type {shortened(type_)}", len(places), advice, places[:show], "mend")


def few_sentences(corpus: Corpus) -> Iterator[Finding]:
    """Find a corpus of hardly any sentence."""
    if corpus.counts and len(corpus) < FEW_SENTENCES:
        advice = "annotate more: a type must be seen in different surroundings to be found in others"
        yield Finding("few sentences in all", len(corpus), advice, weight="mend")


def picked_types(corpus: Corpus, known: Sequence[str] = ()) -> Iterator[Finding]:
    """Find new types that most sentences have: F1 measured on a part of them flatters, if they were picked for it."""
    for type_, count in picked_for(corpus.sentences).items():
        if type_ not in known and count >= FEW_TO_LEARN_FROM:
            yield Finding(
                f"sentences with {shortened(type_)}, more than half of all",
                count,
                f"if they were picked for it, F1 on a part of them flatters: draw sentences at random for a dev set "
                f"(--dev), add sentences without {shortened(type_)}, and give learn texts as they come (--text)",
            )


def no_entities(corpus: Corpus) -> Iterator[Finding]:
    """Find a corpus without any entity."""
    if not corpus.counts:
        advice = "is the tag the last column, and are the spans under the expected key?"
        yield Finding("no entity at all", 0, advice, weight="mend")


def duplicate_texts(corpus: Corpus, show: int = EXAMPLES_SHOWN) -> Iterator[Finding]:
    """Find sentences that occur twice; those that are annotated in another way are a finding of their own."""
    rows: dict[tuple[Surface, tuple[Span, ...]], list[int]] = defaultdict(list)
    for row, sentence in enumerate(corpus, 1):
        rows[sentence.words, sentence.spans].append(row)
    repeated = {words: where for (words, _), where in rows.items() if len(where) > 1}
    if repeated:
        common = sorted(repeated.items(), key=lambda pair: -len(pair[1]))[:show]
        places = [place_of(where, show, quoted_words(corpus[where[0] - 1])) for _, where in common]
        count = sum(len(where) - 1 for where in repeated.values())
        advice = "harmless, unless they are also in your test set"
        yield Finding("sentences that repeat an earlier one", count, advice, places, "note")


def conflicting_annotations(corpus: Corpus, show: int = EXAMPLES_SHOWN) -> Iterator[Finding]:
    """Find texts annotated in two ways."""
    rows: dict[Surface, dict[tuple[Span, ...], int]] = defaultdict(dict)
    for row, sentence in enumerate(corpus, 1):
        rows[sentence.words].setdefault(sentence.spans, row)
    conflicts = {words: list(found.values()) for words, found in rows.items() if len(found) > 1}
    if conflicts:
        shown = list(conflicts.values())[:show]
        places = [place_of(where, show, quoted_words(corpus[where[0] - 1])) for where in shown]
        advice = "decide which one is right"
        yield Finding("texts annotated in different ways", len(conflicts), advice, places, "mend")


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
                place_of(
                    missed_in[words],
                    show,
                    _as_it_stands(corpus[missed_in[words][0] - 1], words),
                    f"annotated {known[words].total()} times elsewhere",
                )
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


def _as_it_stands(sentence: Sentence, words: Surface) -> str:
    """Return words of a sentence as its text has them, at the first place where they are."""
    starts = range(len(sentence.words) - len(words) + 1)
    start = next(at for at in starts if sentence.words[at : at + len(words)] == words)
    return quoted_words(sentence, start, start + len(words))


def _has_letters(words: Surface) -> bool:
    return sum(character.isalpha() for word in words for character in word) > 1


def odd_edges(corpus: Corpus, show: int = EXAMPLES_SHOWN) -> Iterator[Finding]:
    """Find entities whose edges look like a mistake of the annotator."""
    marks, halves = list[Place](), list[Place]()
    for row, sentence in enumerate(corpus, 1):
        inside = _cut_words(sentence) if sentence.spans else frozenset()
        for span in sentence.spans:
            place = place_in(sentence, row, span.start, span.end)
            if _ends_in_a_mark(sentence, span):
                marks.append(place)
            if not inside.isdisjoint((span.start, span.end)):
                halves.append(place)
    if marks:
        advice = "leave the mark outside, unless it belongs to the name"
        yield Finding("entities that begin or end with a punctuation mark", len(marks), advice, marks[:show])
    if halves:
        advice = "let them end where the word ends, unless that is meant"
        yield Finding(CUT_WORDS, len(halves), advice, halves[:show])


def _ends_in_a_mark(sentence: Sentence, span: Span) -> bool:
    outer = (sentence.words[span.start], sentence.words[span.end - 1])
    return any(not any(character.isalnum() for character in word) for word in outer)


def _cut_words(sentence: Sentence) -> frozenset[int]:
    """Return the words of a sentence that begin inside a word of its running text."""
    text, offsets = sentence.located()
    starts = {start for start, _ in word_offsets(text)}
    return frozenset(
        at for at, (start, _) in enumerate(offsets) if start not in starts and at and offsets[at - 1][1] == start
    )
