"""The bodies of requests and responses of the ML backend. Fields that are not needed are dropped, tokens among them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from retainer.serve.schemas import ResponseModel
from retainer.serve.workbench.project_requests import Number

ProjectName = Annotated[str, Field(min_length=1, max_length=100, description="As in 1.1700000000.")]


class SentByLabelStudio(BaseModel):
    """A body, or a part of one: other releases may send more."""

    model_config = ConfigDict(extra="ignore", strict=True)


class SetupRequest(SentByLabelStudio):
    """A project of Label Studio wants to use this backend."""

    project: ProjectName
    label_config: str = Field(alias="schema", description="The label config, in XML.")


class TaskOfProject(SentByLabelStudio):
    """A task: something to annotate."""

    id: Number | None = None
    data: dict[str, Any]


class TasksRequest(SentByLabelStudio):
    """Tasks to find entities in."""

    tasks: Annotated[list[TaskOfProject], Field(fail_fast=True)]
    project: ProjectName | None = None
    label_config: str | None = None


class SentProject(SentByLabelStudio):
    """The project of a webhook."""

    id: Number
    created_at: Annotated[str, Field(max_length=100)] | None = None
    label_config: str | None = None

    @property
    def name(self) -> str | None:
        """The name by which ``/setup`` announces it, if it can be told: number and second of its creation."""
        try:
            return f"{self.id}.{int(datetime.fromisoformat(self.created_at or '').timestamp())}"
        except (ValueError, OverflowError, OSError):
            return None


class SentAnnotation(SentByLabelStudio):
    """An annotation of a webhook."""

    id: Number
    task: Number | None = None
    result: list[dict[str, Any]]
    was_cancelled: bool = False
    completed_by: Number | None = None


class DeletedAnnotation(SentByLabelStudio):
    """An annotation that is no more."""

    id: Number


SentAnnotations = Annotated[list[SentAnnotation], Field(fail_fast=True)]
SentTasks = Annotated[list[TaskOfProject], Field(fail_fast=True)]


class WebhookRequest(SentByLabelStudio):
    """Something happened in a project of Label Studio."""

    action: Annotated[str, Field(max_length=100)]
    project: SentProject
    annotation: SentAnnotation | SentAnnotations | None = None
    task: TaskOfProject | SentTasks | None = None
    tasks: list[dict[str, Any]] | None = None
    annotations: Annotated[list[DeletedAnnotation], Field(fail_fast=True)] | None = None

    def pairs(self) -> list[tuple[SentAnnotation, TaskOfProject]]:
        """Return the annotations, each with its task; one whose task is missing is left out."""
        annotations = self.annotation if isinstance(self.annotation, list) else [self.annotation or None]
        tasks = self.task if isinstance(self.task, list) else [self.task or None]
        by_number = {task.id: task for task in tasks if task is not None}
        only = tasks[0] if len(tasks) == 1 else None
        found = [(one, only or by_number.get(one.task)) for one in annotations if one is not None]
        return [(one, task) for one, task in found if task is not None]


class BackendHealth(ResponseModel):
    """The backend runs."""

    status: str
    model_class: str


class SetupAnswer(ResponseModel):
    """The version that answers, and what to know about its types and the labels."""

    model_version: str
    messages: list[str]


class RegionValue(ResponseModel):
    """A part of a text; offsets count characters (code points)."""

    start: int
    end: int
    text: str
    labels: list[str]


class Region(ResponseModel):
    """An entity as Label Studio shows it."""

    id: str
    from_name: str
    to_name: str
    type: str
    value: RegionValue
    score: float


class TaskPrediction(ResponseModel):
    """What was found in a task."""

    result: list[Region]
    score: float | None
    """Of the least certain entity; null if there is none."""
    model_version: str


class TasksAnswer(ResponseModel):
    """A prediction for every task, in their order."""

    results: list[TaskPrediction]
    messages: list[str]
    """What was left out, and why."""


class WebhookAnswer(ResponseModel):
    """What became of it."""

    status: str
    result: str
    """One sentence."""
    messages: list[str]
    """What was left out, and why."""


class BackendVersions(ResponseModel):
    """The versions there are, the oldest first."""

    versions: list[str]
    in_use: str | None
    """The one that answers."""
