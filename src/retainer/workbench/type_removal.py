"""A type taken out of a project, which nothing needs any more."""

from __future__ import annotations

from retainer.errors import InputError, quoted
from retainer.workbench.project import Project


def remove_type(project: Project, name: str, who: str) -> None:
    """Remove a type; one that the version in use finds stays, since it would go on proposing entities of it."""
    with project.database.writing():
        project.types.remove(name, who)
        in_use, renamed = project.versions.in_use(), project.types.renamed()
        if in_use is not None and name in {renamed.get(type_, type_) for type_ in in_use.types}:
            raise InputError(
                f"{in_use.name}, which is in use, finds {quoted(name)}, so it cannot be removed; merge it into another "
                "type, or put a version into use that does not know it"
            )
