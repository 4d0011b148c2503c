"""The ML backend: which projects of Label Studio were announced, and where their annotations are kept."""

from __future__ import annotations

from functools import cached_property

from retainer.errors import InputError
from retainer.serve.label_studio.bodies import SentProject
from retainer.serve.label_studio.kept_annotations import LabelStudioProject
from retainer.serve.label_studio.label_config import LabelConfig, parse_label_config
from retainer.serve.registry import Registry, ServedVersion
from retainer.serve.responses import ApiError
from retainer.serve.workbench.refusals import in_thread
from retainer.serve.workbench.served_project import ServedProject
from retainer.workbench.label_studio import LabelStudioLinks
from retainer.workbench.project import Project

MOST_PROJECTS = 1000
"""Projects that are remembered; with a workbench, on the disk too."""


class LabelStudioBackend:
    """The state behind the routes. For the thread of one event loop."""

    def __init__(self, registry: Registry, served: ServedProject | None = None) -> None:
        """Keep annotations in a project, if there is one."""
        self.registry, self.served = registry, served
        self._configs: dict[str, str] | None = None
        """The label configs of the projects that were announced, once they were read."""

    @property
    def project(self) -> Project | None:
        """The project that keeps annotations."""
        return None if self.served is None else self.served.project

    @cached_property
    def links(self) -> LabelStudioLinks:
        """What the project knows of Label Studio."""
        assert self.project is not None
        return LabelStudioLinks(self.project.database)

    async def announce(self, name: str, label_config: str) -> LabelConfig:
        """Remember a project; one whose config cannot be used is refused, and then not known."""
        config = parsed(label_config)
        configs = await self._announced()
        if configs.get(name) == label_config:
            return config
        if name not in configs and len(configs) >= MOST_PROJECTS:
            raise ApiError(
                422, "too_many_projects", f"{MOST_PROJECTS} projects were announced already; use another one"
            )
        if self.project is not None:
            await in_thread(lambda: self.links.announce(name, label_config))
        configs[name] = label_config
        return config

    async def config_of(self, name: str | None, label_config: str | None) -> LabelConfig:
        """Return the config that a request carries, or else the one that was announced."""
        given = label_config or (await self._announced()).get(name or "")
        if not given:
            raise ApiError(
                422, "no_label_config", "the request has no label_config, and no /setup announced its project"
            )
        return parsed(given)

    async def name_of(self, project: SentProject, *, trusted: bool) -> str:
        """Return the name of the project of a webhook, which must be an announced one unless its sender is trusted."""
        configs = await self._announced()
        same = [name for name in configs if name.partition(".")[0] == str(project.id)]
        if project.name in configs:
            return project.name
        if project.created_at is None and len(same) == 1:
            return same[0]
        if trusted:
            return project.name or str(project.id)
        raise ApiError(
            403,
            "unknown_project",
            "no /setup announced this project; connect the backend again, or put the secret into the address of the "
            "webhook",
        )

    def kept_in(self, name: str, config: LabelConfig) -> LabelStudioProject:
        """Return where the annotations of a project are kept."""
        assert self.project is not None
        return LabelStudioProject(name, config, self.project, self.links)

    async def renamed(self) -> dict[str, str]:
        """Return what types are called now that a version knows by another name."""
        return {} if self.project is None else await in_thread(self.project.types.renamed)

    async def versions(self) -> list[str]:
        """Return all versions there are, those that are not loaded too."""
        if self.project is None:
            return [model_version(one.name, one.hash) for one in self.registry]
        return [model_version(one.name, one.hash) for one in await in_thread(self.project.versions.all)]

    def in_use(self) -> ServedVersion | None:
        """Return the version that answers, if there is one."""
        return next(iter(self.registry), None)

    async def _announced(self) -> dict[str, str]:
        if self._configs is None:
            self._configs = {} if self.project is None else await in_thread(lambda: self.links.projects())
        return self._configs


def model_version(name: str, hash_: str) -> str:
    """Return the name of a version that stands for the same one for ever: a folder may hold another one tomorrow."""
    return f"{name}-{hash_[:8]}"


def parsed(label_config: str) -> LabelConfig:
    """Parse a label config, or answer why not."""
    try:
        return parse_label_config(label_config)
    except InputError as error:
        raise ApiError(422, "label_config", str(error)) from None
