"""Example sentences: what each method finds in them after each task, compared with the gold annotation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from retainer.data.spans import Sentence, Span
from retainer.report.draw.runs import Run


@dataclass(frozen=True)
class Example:
    """A sentence with all its entities, and per method the spans (of words) predicted after each task."""

    sentence: Sentence
    predictions: Mapping[str, Sequence[tuple[Span, ...]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Piece:
    """A stretch of text with one look: ``plain``, ``gold``, ``found``, ``wrong``, ``missed`` or ``forgotten``."""

    text: str
    kind: str = "plain"
    type: str = ""
    note: str = ""


@dataclass(frozen=True)
class SentenceOutcome:
    """A sentence after one task of one method, ready to print."""

    pieces: tuple[Piece, ...]
    found: int
    wanted: int


def gold_pieces(sentence: Sentence) -> tuple[Piece, ...]:
    """Cut a sentence at its annotated entities."""
    return _pieces(sentence, [(span, "gold", "") for span in sentence.spans])


def outcomes_by_task(example: Example, run: Run) -> list[SentenceOutcome | None]:
    """Compare a method's predictions after every task with the annotation; None where there are none."""
    predictions = example.predictions.get(run.method, ())
    outcomes: list[SentenceOutcome | None] = []
    found_before: set[Span] = set()
    for task in range(len(run.tasks)):
        if task >= len(predictions):
            outcomes.append(None)
            continue
        known = {type_ for type_, start in run.start.items() if start <= task}
        outcomes.append(sentence_outcome(example.sentence, predictions[task], known, found_before))
        found_before |= set(predictions[task]) & set(example.sentence.spans)
    return outcomes


def sentence_outcome(
    sentence: Sentence, predicted: Iterable[Span], known: set[str], found_before: set[Span]
) -> SentenceOutcome:
    """Compare predictions with the entities of the known types; ``found_before`` were found after older tasks."""
    predicted = sorted(set(predicted))
    annotated = set(sentence.spans)
    wanted = [span for span in sentence.spans if span.type in known]
    marks = [(span, "found" if span in annotated else "wrong", _gold_note(span, sentence)) for span in predicted]
    for span in wanted:
        if not any(_overlap(span, other) for other in predicted):
            marks.append((span, "forgotten" if span in found_before else "missed", ""))
    return SentenceOutcome(_pieces(sentence, sorted(marks)), len(set(wanted) & set(predicted)), len(wanted))


def _overlap(a: Span, b: Span) -> bool:
    return a.start < b.end and b.start < a.end


def _gold_note(span: Span, sentence: Sentence) -> str:
    """Name the annotated entities under a wrong prediction."""
    under = [other for other in sentence.spans if _overlap(span, other)]
    if not under:
        return "no entity"
    text, offsets = sentence.located()
    names = (f"{text[offsets[s.start][0] : offsets[s.end - 1][1]]} ({s.type})" for s in under)
    return "in truth " + ", ".join(names)


def _pieces(sentence: Sentence, marks: Iterable[tuple[Span, str, str]]) -> tuple[Piece, ...]:
    """Cut the text at the marked spans; of spans that overlap the first one is shown."""
    text, offsets = sentence.located()
    pieces, at, word = [], 0, 0
    for span, kind, note in marks:
        if not word <= span.start < span.end <= len(offsets):
            continue
        start, end = offsets[span.start][0], offsets[span.end - 1][1]
        pieces += [Piece(text[at:start]), Piece(text[start:end], kind, span.type, note)]
        at, word = end, span.end
    pieces.append(Piece(text[at:]))
    return tuple(piece for piece in pieces if piece.text)
