"""What there is to teach, and what is odd about it: looked at before a job is begun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from retainer.data.checks import Finding, findings
from retainer.data.place import Place
from retainer.errors import InputError
from retainer.workbench.project import Project
from retainer.workbench.teach_plan import require_teachable
from retainer.workbench.training_data import training_data

_PLACES = 5
"""Places that a finding names."""


@dataclass(frozen=True)
class Readiness:
    """Whether something can be taught now."""

    findings: Sequence[Finding]
    """What is odd in the texts to teach from, the most serious first; their places are numbers of texts."""
    texts: int
    entities: Mapping[str, int]
    pool: int
    """Texts without a decision, which help to keep old types."""
    held_back: int
    """Texts with a decision to compare versions on."""
    new_types: tuple[str, ...]
    incomplete: Mapping[str, int]
    """Texts with a decision in which not every entity of a type is marked, by type."""
    why_not: str = ""
    """Why nothing can be taught; empty if something can."""

    @property
    def ready(self) -> bool:
        """Whether a job would have something to teach."""
        return not self.why_not


def readiness(project: Project) -> Readiness:
    """Look at what the next job would teach from."""
    with project.database.reading():
        data, parent = training_data(project), project.versions.in_use()
        renamed, open_texts = project.types.renamed(), _incomplete(project)
    known = tuple(dict.fromkeys(renamed.get(type_, type_) for type_ in (parent.types if parent else ())))
    try:
        require_teachable(data)
        why_not = ""
    except InputError as error:
        why_not = str(error)
    return Readiness(
        [_located(one, data.taught) for one in findings(data.train, known, _PLACES)] if len(data.train) else (),
        len(data.train),
        dict(sorted(data.train.counts.items())),
        len(data.text),
        len(data.held_back),
        tuple(type_ for type_ in data.train.types if type_ not in known),
        open_texts,
        why_not,
    )


def _incomplete(project: Project) -> dict[str, int]:
    decided = project.texts.count(decided=True)
    open_texts = {name: decided - count.complete for name, count in project.annotations.counts().items()}
    return {name: count for name, count in open_texts.items() if count}


def _located(finding: Finding, texts: Sequence[int]) -> Finding:
    """Name texts of the project by their numbers, each once: nobody knows which sentence of a job they become."""
    places = dict[tuple[tuple[int, ...], str], Place]()
    for one in finding.examples:
        named = tuple(texts[row - 1] for row in one.sentences)
        before = places.get((named, one.remark))
        quote = one.text if before is None else f"{before.text} … {one.text}"
        places[named, one.remark] = replace(one, sentences=named, text=quote)
    return replace(finding, examples=list(places.values()))
