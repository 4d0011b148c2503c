"""A project: a folder with a database, the versions that were taught, and the files of jobs.

``project.sqlite`` holds all that people did, ``versions/NAME`` what was learned from it, ``jobs/N`` the files of a job.
Any number of processes may read a project and write to it; one alone serves it.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import TracebackType

from retainer.errors import InputError, disk_refusals
from retainer.files import sync
from retainer.workbench import schema
from retainer.workbench.annotations import Annotations
from retainer.workbench.database import Database, require_sound
from retainer.workbench.jobs import ProjectJobs
from retainer.workbench.lock import PROJECT_LOCK, served_alone
from retainer.workbench.texts import ProjectTexts
from retainer.workbench.types import ProjectTypes
from retainer.workbench.versions import ProjectVersions

DATABASE_FILE = "project.sqlite"
JOBS_FOLDER = "jobs"
_BESIDE = {DATABASE_FILE, f"{DATABASE_FILE}-wal", f"{DATABASE_FILE}-shm", PROJECT_LOCK}
"""What may lie beside a database that is still empty: the files of SQLite, and the lock."""


class Project:
    """A project that is open."""

    def __init__(self, folder: Path, database: Database) -> None:
        """Put the parts of a project together; ``open`` is the way in."""
        self.folder, self.database = folder, database
        self.texts = ProjectTexts(database)
        self.types = ProjectTypes(database)
        self.annotations = Annotations(database)
        self.versions = ProjectVersions(database, folder)
        self.jobs = ProjectJobs(database)

    @classmethod
    def open(cls, folder: str | Path, *, create: bool = False) -> Project:
        """Open the project in a folder; ``create`` makes it where there is none yet.

        A folder that holds something else, a database of a newer retainer and a damaged one are refused. One of an
        older retainer is brought up to date, which needs a moment in which it is not served.
        """
        folder = Path(folder)
        _require_place(folder, create)
        database = Database(folder / DATABASE_FILE)
        try:
            _bring_up_to_date(folder, database)
        except BaseException:
            database.close()
            raise
        return cls(folder, database)

    def served(self) -> contextlib.AbstractContextManager[None]:
        """Hold the project for one server; a second one is refused."""
        return served_alone(self.folder)

    def job_folder(self, number: int) -> Path:
        """Return where the files of a job lie, or will lie."""
        return self.folder / JOBS_FOLDER / str(number)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def __enter__(self) -> Project:
        """Close it in the end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it, whatever happened."""
        self.close()


def _require_place(folder: Path, create: bool) -> None:
    """Refuse a folder that is not a project, or make it: then it must be new or empty."""
    if (folder / DATABASE_FILE).is_file():
        return
    if not create:
        raise InputError(
            f"{folder} is not a project: there is no {DATABASE_FILE} in it; `retainer project import` makes one"
        )
    with disk_refusals(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _require_empty(folder)


def _require_empty(folder: Path) -> None:
    """Refuse to begin a project where something else is; hidden files do not count."""
    found = sorted(path.name for path in folder.iterdir() if not path.name.startswith(".") and path.name not in _BESIDE)
    if found:
        raise InputError(
            f"{folder} has no project in it, and is not empty: there is {found[0]!a}; put the {DATABASE_FILE} back, or "
            "name a new folder"
        )


def _bring_up_to_date(folder: Path, database: Database) -> None:
    """Refuse a database that cannot be used, make the tables of a new one, and migrate an old one."""
    with database.reading() as connection:
        layout = schema.layout_of(connection, database.path)
        require_sound(connection, database.path)
    if layout == len(schema.LAYOUTS):
        return
    if layout == 0:
        _require_empty(folder)  # a database that lost everything is not a new one
    with served_alone(folder) if layout else contextlib.nullcontext(), database.writing() as connection:
        schema.migrate(connection)
    sync(folder)
