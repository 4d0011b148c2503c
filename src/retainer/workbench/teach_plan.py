"""What a job teaches, fixed when it first begins: a job that was interrupted goes on with the same texts and start."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from retainer.data.corpus import Corpus
from retainer.data.io import read, write
from retainer.errors import InputError, disk_refusals
from retainer.files import write_text
from retainer.plurals import amount
from retainer.versions.retype import rename_types, retype
from retainer.versions.version import Version, load
from retainer.workbench.jobs import Job
from retainer.workbench.project import Project
from retainer.workbench.teach_request import TeachRequest
from retainer.workbench.training_data import TrainingData, training_data

BUILT_IN = "builtin"
"""What a project begins with that has no version."""
_PLAN, _TRAIN, _TEXT, _START = "plan.json", "train.jsonl", "text.jsonl", "start"
DATA_FILES = (_TRAIN, _TEXT)
"""What a job is taught from, and texts to keep old types with."""
_FORMAT = "prodigy"
"""Holds texts, their words and which types are complete."""


@dataclass(frozen=True)
class TeachPlan:
    """The start, the new version and how much there is to teach from."""

    version: str
    """The name of the new version."""
    parent: str | None
    """The version it starts from; None for the built-in encoder."""
    texts: int
    pool: int
    """Texts without a decision that help to keep old types."""


def planned(project: Project, job: Job) -> TeachPlan:
    """Return the plan of a job; the first time, make it and write its data."""
    folder = project.job_folder(job.id)
    if (folder / _PLAN).is_file():
        return TeachPlan(**json.loads((folder / _PLAN).read_text(encoding="utf-8")))
    with disk_refusals(folder):
        folder.mkdir(parents=True, exist_ok=True)
        plan = _made(project, job, folder)
        write_text(folder / _PLAN, json.dumps(asdict(plan)))  # last: a plan without its data is none
    return plan


def _made(project: Project, job: Job, folder: Path) -> TeachPlan:
    with project.database.reading():
        data, parent = training_data(project), project.versions.in_use()
        name = next_name(project)
    require_teachable(data)
    known = parent is not None and bool(parent.types)
    pool = data.text if TeachRequest.of(job.request).takes_text and known else Corpus((), data.text.source)
    for corpus, file in ((data.train, _TRAIN), (pool, _TEXT)):
        _write(corpus, folder / file)
    return TeachPlan(name, None if parent is None else parent.name, len(data.train), len(pool))


def _write(corpus: Corpus, path: Path) -> None:
    path.unlink(missing_ok=True)  # half of it, from a process that was killed
    if len(corpus):
        write(corpus.sentences, path, _FORMAT)


def next_name(project: Project) -> str:
    """Return the name of the next version: v1, v2 and so on, as long as nothing has it."""
    taken = {version.name for version in project.versions.all()}
    number = 1
    while (name := f"v{number}") in taken or project.versions.folder(name).exists():
        number += 1
    return name


def require_teachable(data: TrainingData) -> None:
    """Refuse texts from which nothing can be learned."""
    if not len(data.train):
        if not len(data.held_back):
            raise InputError("no text to teach from has a decision yet; look at some texts first")
        alone = amount(len(data.held_back), "text with a decision is", "texts with a decision are")
        raise InputError(
            f"{alone} held back to compare versions on, and no other has a decision yet; look at more texts"
        )
    if not data.train.counts:
        raise InputError("no entity is marked in the texts with a decision; mark some first")


def taught_corpus(project: Project, job: Job) -> Corpus:
    """Read the annotated texts of a job."""
    return _named(read(project.job_folder(job.id) / _TRAIN, _FORMAT), project)


def taught_texts(project: Project, version: str) -> tuple[int, ...]:
    """Return the numbers of the texts that a version was taught from; none if it was brought along."""
    job = project.versions.get(version).job
    if job is None:
        return ()
    if not (project.job_folder(job) / _TRAIN).stat().st_size:
        return ()  # all of them were removed
    corpus = taught_corpus(project, project.jobs.get(job))
    return project.texts.numbers(sentence.located()[0] for sentence in corpus)


def types_to_name(corpus: Corpus, known: Sequence[str]) -> tuple[str, ...] | None:
    """Return the types to name to `learn`, which asks for that where all are known and none is complete anywhere.

    In a project that is no mistake: a person corrected what the version finds, and did not say that this was all.
    """
    said = {*(corpus.complete or ())}
    return corpus.types if {*corpus.types} <= {*known} and said.isdisjoint(corpus.types) else None


def pool_corpus(project: Project, job: Job) -> Corpus | None:
    """Read the texts of a job that have no annotation, if it has any."""
    path = project.job_folder(job.id) / _TEXT
    return _named(read(path, _FORMAT), project) if path.is_file() else None


def _named(corpus: Corpus, project: Project) -> Corpus:
    """Name the project as the source, not a file of a job that nobody knows of."""
    return Corpus(corpus.sentences, project.folder.name)


def start_of(project: Project, job: Job, plan: TeachPlan, device: str) -> Version:
    """Load the version to start from, with the names that types have in the project now."""
    if plan.parent is None:
        return load(BUILT_IN, device=device)
    renamed = project.job_folder(job.id) / _START
    if renamed.is_dir():
        return load(renamed, device=device)
    version = load(project.versions.place(plan.parent), device=device)
    names = {old: new for old, new in project.types.renamed().items() if old in version.types}
    if not names:
        return version
    _with_names(version, names).save(renamed)
    return load(renamed, device=device)


def _with_names(version: Version, names: Mapping[str, str]) -> Version:
    """Give types of a version the names of today, under which several may have become one."""
    now = [names.get(type_, type_) for type_ in version.types]
    if len(set(now)) == len(now):
        return rename_types(version, names)
    meeting = {type_: [name] for type_, name in zip(version.types, now, strict=True) if now.count(name) > 1}
    return retype(version, "merge", {**{old: [new] for old, new in names.items()}, **meeting})


def forget_files(project: Project, job: int) -> None:
    """Remove what only an unfinished job needs; what it taught from stays."""
    folder = project.job_folder(job)
    for name in ("state", _START):
        shutil.rmtree(folder / name, ignore_errors=True)
