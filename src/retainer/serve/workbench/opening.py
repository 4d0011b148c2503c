"""Opens a project for a server: the lock, the version in use, and models from elsewhere that join it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from retainer.errors import InputError
from retainer.serve.metrics import Metrics
from retainer.serve.registry import Registry
from retainer.serve.workbench.served_project import ServedProject
from retainer.workbench.project import Project

STARTER = "retainer serve"
"""Who put the first version into use."""


@contextlib.contextmanager
def served_project(
    folder: str, models: Mapping[str, str], log: Callable[[str], None], *, device: str = "auto"
) -> Iterator[ServedProject]:
    """Open a project, or make it, for this server alone; models that it does not have are added to it."""
    with Project.open(folder, create=True) as project, project.served():
        for name, path in models.items():
            _require_same(project, name, path)
        log(f"retainer: loading {', '.join(models) or folder}")
        registry = Registry(models, Metrics(), log, device=device)
        for name, path in models.items():
            _join(project, registry, name, path)
        if models and project.versions.in_use() is None:
            project.versions.use(next(iter(models)), STARTER)
        yield ServedProject(project, registry, _load_in_use(project, registry))


def _require_same(project: Project, name: str, path: str) -> None:
    """Refuse a model under the name of another version."""
    known = {version.name for version in project.versions.all()}
    project.versions.folder(name)
    place = str(Path(path).absolute()) if Path(path).exists() else path
    if name in known and Path(project.versions.place(name)).absolute() != Path(place).absolute():
        raise InputError(f"the project has another version {name!r} already; give this one a name: NAME={path}")


def _join(project: Project, registry: Registry, name: str, path: str) -> None:
    served = registry.get(name)
    with project.database.writing():
        if name not in {version.name for version in project.versions.all()}:
            project.versions.add(name, served.hash, types=served.version.types, elsewhere=path)
        project.types.ensure_found(served.version.types, STARTER)


def _load_in_use(project: Project, registry: Registry) -> str | None:
    """Load the version in use; without it the project can still be looked at, and another one put into use."""
    in_use = project.versions.in_use()
    if in_use is None:
        return None
    try:
        asyncio.run(registry.add(in_use.name, project.versions.place(in_use.name)))
    except InputError as error:
        registry.log(f"{in_use.name} is in use and cannot be loaded, so no version answers: {error}")
        return None
    registry.lead(in_use.name)
    return in_use.name
