"""What a project knows of Label Studio: the projects there that were announced, and where their annotations went.

The tables are made when they are first needed. They only add to the layout, so a retainer that does not know them
leaves them alone.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from retainer.workbench.clock import now
from retainer.workbench.database import Database

_TABLES = (
    """CREATE TABLE IF NOT EXISTS label_studio_projects (
    project TEXT PRIMARY KEY,            -- as Label Studio names it to a backend: number.time
    label_config TEXT NOT NULL,          -- XML
    announced TEXT NOT NULL
) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS label_studio_annotations (
    project TEXT NOT NULL,
    annotation INTEGER NOT NULL,         -- its number in Label Studio
    task INTEGER NOT NULL,
    text INTEGER NOT NULL REFERENCES texts (id),
    revision INTEGER NOT NULL,           -- of the text, when it said what the annotation says
    PRIMARY KEY (project, annotation)
) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS label_studio_annotations_by_text ON label_studio_annotations (text, revision)",
)


@dataclass(frozen=True)
class KeptAnnotation:
    """Where an annotation of Label Studio is in the project."""

    project: str
    annotation: int
    task: int
    text: int
    revision: int


class LabelStudioLinks:
    """The tables, by the names that Label Studio gives to its projects."""

    def __init__(self, database: Database) -> None:
        """Make the tables where they are missing."""
        self._database = database
        with database.writing() as connection:
            for table in _TABLES:
                connection.execute(table)

    def announce(self, project: str, label_config: str) -> None:
        """Remember a project and its label config, or the config it has now."""
        with self._database.writing() as connection:
            connection.execute(
                "INSERT INTO label_studio_projects VALUES (?, ?, ?) "
                "ON CONFLICT (project) DO UPDATE SET label_config = excluded.label_config",
                (project, label_config, now()),
            )

    def projects(self) -> dict[str, str]:
        """Return the label configs of all projects that were announced."""
        with self._database.reading() as connection:
            return dict(connection.execute("SELECT project, label_config FROM label_studio_projects").fetchall())

    def keep(self, kept: KeptAnnotation) -> None:
        """Remember where an annotation is."""
        with self._database.writing() as connection:
            row = (kept.project, kept.annotation, kept.task, kept.text, kept.revision)
            connection.execute("INSERT OR REPLACE INTO label_studio_annotations VALUES (?, ?, ?, ?, ?)", row)

    def get(self, project: str, annotation: int) -> KeptAnnotation | None:
        """Return where an annotation is, if it was kept."""
        found = self._where("project = ? AND annotation = ?", project, annotation)
        return found[0] if found else None

    def of_text(self, text: int) -> tuple[KeptAnnotation, ...]:
        """Return the annotations of a text, the one that was written last first."""
        return self._where("text = ? ORDER BY revision DESC", text)

    def forget(self, kept: KeptAnnotation) -> None:
        """Remember an annotation no longer: it was deleted in Label Studio."""
        with self._database.writing() as connection:
            condition = "project = ? AND annotation = ?"
            connection.execute(
                f"DELETE FROM label_studio_annotations WHERE {condition}", (kept.project, kept.annotation)
            )

    def _where(self, condition: str, *values: str | int) -> tuple[KeptAnnotation, ...]:
        with self._database.reading() as connection:
            query = f"SELECT * FROM label_studio_annotations WHERE {condition}"
            return tuple(_kept(row) for row in connection.execute(query, values))


def _kept(row: sqlite3.Row) -> KeptAnnotation:
    return KeptAnnotation(*row)
