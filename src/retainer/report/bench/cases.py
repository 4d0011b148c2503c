"""A case study: test sentences in which methods find different things, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retainer.bench.cell import found_spans
from retainer.data.corpus import Corpus
from retainer.data.spans import Span
from retainer.report.bench.folder import BenchFolder, types_of_setting
from retainer.report.bench.method_comparison import MethodComparison
from retainer.report.bench.rows import MethodRow
from retainer.report.draw.examples import Piece, SentenceOutcome, gold_pieces, sentence_outcome

_ASKED_FOR = ("extend_ner", "cfner", "finetune")
"""The methods shown beside the chosen one if they were measured; others fill the rest."""
_MOST_METHODS = 4
_MOST_SENTENCES = 24
LONGEST_SENTENCE, _SHORT_SENTENCE = 45, 8
"""Words; longer sentences are hard to compare by eye, shorter ones say little."""


@dataclass(frozen=True)
class StudySentence:
    """A sentence with its annotation and what each method found."""

    truth: tuple[Piece, ...]
    outcomes: tuple[SentenceOutcome, ...]
    types: tuple[str, ...]
    """Types about which the methods disagree."""
    right: tuple[bool, ...]
    """By method, whether it found exactly what is annotated."""

    @property
    def side(self) -> str:
        """Which of the first two methods is right: only the first (``ours``), only the second (``theirs``)."""
        ours, theirs = self.right[:2]
        return "alike" if ours == theirs else "ours" if ours else "theirs"


@dataclass(frozen=True)
class CaseStudy:
    """The sentences shown, and how many there would be."""

    setting: str
    seed: int
    methods: tuple[str, ...]
    types: tuple[str, ...]
    cases: tuple[StudySentence, ...]
    differing: int
    sentences: int
    ours: int
    theirs: int
    variant: str = ""
    """What is not the default about all of them, written once instead of with every name."""


def case_study(folder: BenchFolder, comparisons: Sequence[MethodComparison], test: Corpus) -> CaseStudy | None:
    """Compare methods after the last task of the setting with most types; None where spans are missing."""
    comparison = max(comparisons, key=lambda one: (len(types_of_setting(one.rows)), len(one.rows[0].cells[0].tasks)))
    rows = _methods(comparison)
    seed = _seed(folder, rows)
    if seed is None or len(rows) < 2:
        return None
    types = types_of_setting(comparison.rows)
    last = [(found_spans(folder.file(row, seed)) or [{}])[-1] for row in rows]
    cases = []
    for at, sentence in enumerate(test):
        wanted = tuple(span for span in sentence.spans if span.type in types)
        given = [one.get(at, ()) for one in last]
        if len({frozenset(spans) for spans in given}) > 1 and len(sentence.words) <= LONGEST_SENTENCE:
            hidden = sentence.with_spans(wanted)
            outcomes = tuple(sentence_outcome(hidden, spans, set(types), set()) for spans in given)
            right = tuple(set(spans) == set(wanted) for spans in given)
            cases.append(StudySentence(gold_pieces(hidden), outcomes, _about(given, types), right))
    shown = _varied(cases, types)
    ours, theirs = (sum(case.side == side for case in cases) for side in ("ours", "theirs"))
    shared = {row.variant for row in rows}
    variant = shared.pop() if len(shared) == 1 else ""
    names = tuple(row.method if variant else row.name for row in rows)
    return CaseStudy(comparison.setting, seed, names, types, shown, len(cases), len(test), ours, theirs, variant)


def _methods(comparison: MethodComparison) -> list[MethodRow]:
    """Return the chosen method, its best rival, those readers ask for, and the best of the rest, fairly trained."""
    first = comparison.chosen or comparison.best or comparison.rows[0]
    fair = [row for row in comparison.rows if row.variant == first.variant and not row.joint]
    rival = [comparison.gain.rival] if comparison.gain else []
    asked = [row for name in _ASKED_FOR for row in fair if row.method == name]
    return list({row.name: row for row in (first, *rival, *asked, *fair)}.values())[:_MOST_METHODS]


def _seed(folder: BenchFolder, rows: Sequence[MethodRow]) -> int | None:
    """Return the first seed all have and whose spans were kept."""
    common = set.intersection(*(set(row.by_seed) for row in rows))
    kept = (seed for seed in sorted(common) if all(found_spans(folder.file(row, seed)) is not None for row in rows))
    return next(kept, None)


def _about(given: Sequence[Sequence[Span]], types: Sequence[str]) -> tuple[str, ...]:
    """Return the types of the entities that some methods find and others do not."""
    sets: list[set[Span]] = [set(spans) for spans in given]
    apart = {span.type for one in sets for other in sets for span in one - other}
    return tuple(type_ for type_ in types if type_ in apart)


def _varied(cases: Sequence[StudySentence], types: Sequence[str]) -> tuple[StudySentence, ...]:
    """Take turns over types and over which method is right, so that neither a type nor a method crowds out the rest.

    A text that occurs twice is shown once, and whole sentences come before fragments of tables.
    """
    turns = [(type_, side) for side in ("ours", "theirs", "alike") for type_ in types]
    texts = {"".join(piece.text for piece in case.truth): case for case in reversed(cases)}
    once = [texts[text] for text in sorted(reversed(texts), key=lambda text: len(text.split()) < _SHORT_SENTENCE)]
    queues = {turn: [case for case in once if turn[0] in case.types and case.side == turn[1]] for turn in turns}
    taken: list[StudySentence] = []
    while any(queues.values()) and len(taken) < _MOST_SENTENCES:
        for turn, queue in queues.items():
            queues[turn] = [case for case in queue if not any(case is other for other in taken)]
            taken += queues[turn][:1]
    return tuple(taken[:_MOST_SENTENCES])
