"""A text taken out of a project for good, such as a note with the data of the wrong patient.

Its rows go, with all of its history and its part of the search index, and what past jobs were taught from is written
again without it. Then the database is written anew, so that its bytes are in no file of the project. What stays is its
number. A version that was taught from it cannot unlearn it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from retainer.errors import InputError, disk_refusals
from retainer.files import write_text
from retainer.workbench.project import JOBS_FOLDER, Project
from retainer.workbench.removed_texts import record_removal, removed_texts
from retainer.workbench.search import drop_index, index_texts
from retainer.workbench.teach_plan import DATA_FILES

_TABLES_WITH_TEXTS = {"label_studio_annotations": "text", "changes": "text", "annotations": "text", "texts": "id"}
"""The tables that speak of a text, and the column with its number; a row comes before what it refers to."""


@dataclass(frozen=True)
class RemovedTexts:
    """What became of texts that were to be removed."""

    ids: tuple[int, ...]
    jobs: tuple[int, ...]
    """Past jobs whose files had one of them."""
    versions: tuple[str, ...]
    """Versions that were taught from one of them, which they cannot unlearn."""


def remove_texts(project: Project, ids: Collection[int], who: str) -> RemovedTexts:
    """Remove texts for good; those that were removed before may be named again, if it was interrupted."""
    with project.database.writing() as connection:
        _require_no_job(project)
        gone = removed_texts(connection)
        texts = [project.texts.get(id_) for id_ in dict.fromkeys(ids) if id_ not in gone]
        jobs = _taken_out_of_jobs(project, {text.text for text in texts})
        _delete(connection, [text.id for text in texts])
        record_removal(connection, [text.id for text in texts], who)
    try:
        project.database.scrub()
    except InputError as error:
        raise InputError(
            f"the texts are removed, but parts of them may still be in the files of the project ({error}); remove them "
            "again"
        ) from error
    versions = tuple(version.name for version in project.versions.all() if version.job in jobs)
    return RemovedTexts(tuple(dict.fromkeys(ids)), jobs, versions)


def _require_no_job(project: Project) -> None:
    """Refuse while a job runs: its process has read its texts."""
    running = project.jobs.running()
    if running is not None:
        raise InputError(f"job {running.id} teaches now and has read the texts; cancel it, or wait until it ends")


def _delete(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Delete all rows about texts; the history lets nothing go otherwise, so what guards it stands aside meanwhile."""
    guards = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'changes'")
    guarding = guards.fetchall()
    for name, _ in guarding:
        connection.execute(f"DROP TRIGGER {name}")
    there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table, column in _TABLES_WITH_TEXTS.items():
        if table in there:
            condition = f"{column} IN (SELECT value FROM json_each(?))"
            connection.execute(f"DELETE FROM {table} WHERE {condition}", (json.dumps(list(ids)),))
    for _, sql in guarding:
        connection.execute(sql)
    drop_index(connection)
    index_texts(connection)


def _taken_out_of_jobs(project: Project, texts: Collection[str]) -> tuple[int, ...]:
    """Write what past jobs were taught from again, without some texts; return the jobs that had one."""
    files = [path for name in DATA_FILES for path in (project.folder / JOBS_FOLDER).glob(f"*/{name}")]
    changed = {path for path in files if _taken_out(path, texts)}
    return tuple(sorted({int(path.parent.name) for path in changed if path.parent.name.isdecimal()}))


def _taken_out(path: Path, texts: Collection[str]) -> bool:
    with disk_refusals(path):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if json.loads(line)["text"] not in texts]
        if len(kept) == len(lines):
            return False
        write_text(path, "".join(kept))
        return True
