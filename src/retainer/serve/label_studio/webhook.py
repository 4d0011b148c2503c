"""What happens in a project of Label Studio: annotations are kept or taken back, and training is queued."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from retainer.errors import InputError
from retainer.plurals import amount
from retainer.serve.label_studio.backend import LabelStudioBackend
from retainer.serve.label_studio.bodies import SentAnnotation, TaskOfProject, WebhookRequest
from retainer.serve.label_studio.kept_annotations import LabelStudioProject, SentText
from retainer.serve.label_studio.predictions import text_under_key
from retainer.serve.responses import ApiError, is_valid_unicode
from retainer.serve.settings import Limits
from retainer.serve.text_limits import within_limits
from retainer.serve.workbench.refusals import in_thread
from retainer.workbench.jobs import Job
from retainer.workbench.project import Project
from retainer.workbench.teach_queue import queue_teaching
from retainer.workbench.teach_request import TEACH, TeachRequest
from retainer.workbench.texts import LONGEST_TEXT

START_TRAINING = "START_TRAINING"
TOGETHER = 200
"""Annotations that are written at once: each alone would wait for the disk, and all of them would make others wait."""
MOST_MESSAGES = 10
"""Of one webhook, which may bring as many annotations as fit into a body."""


@dataclass(frozen=True)
class WebhookResult:
    """What became of a webhook."""

    sentence: str
    messages: list[str]
    """What was left out."""

    def some_messages(self) -> list[str]:
        """Return the first messages, and how many more there are."""
        rest = len(self.messages) - MOST_MESSAGES
        return self.messages if rest <= 0 else [*self.messages[:MOST_MESSAGES], f"and {rest} more of the kind"]


async def take_webhook(
    backend: LabelStudioBackend, request: WebhookRequest, name: str, limits: Limits
) -> WebhookResult:
    """Do what a webhook of a known project asks for; actions that mean nothing here are acknowledged."""
    action = ACTIONS.get(request.action)
    if action is None and request.action != START_TRAINING:
        return WebhookResult("nothing to do", [])
    if backend.project is None:
        if request.action == START_TRAINING:
            raise ApiError(409, "no_workbench", "this server cannot teach: start it with --workbench FOLDER")
        return WebhookResult(
            "acknowledged, and not kept: start the server with --workbench FOLDER to keep annotations", []
        )
    if action is None:
        project = backend.project
        job = await in_thread(lambda: _queued(project, name))
        return WebhookResult(f"job {job.id} teaches from the annotations as soon as no other job runs", [])
    config = await backend.config_of(name, request.project.label_config)
    return await action(backend.kept_in(name, config), request, limits)


def _queued(project: Project, name: str) -> Job:
    """Queue a job, unless one of the same project waits already."""
    who = f"Label Studio, project {name}"
    with project.database.writing():
        waiting = (job for job in project.jobs.all() if (job.kind, job.state, job.who) == (TEACH, "queued", who))
        return next(waiting, None) or queue_teaching(project, TeachRequest(), who)


async def _kept(place: LabelStudioProject, request: WebhookRequest, limits: Limits) -> WebhookResult:
    """Keep annotations; of several that come at once, each for itself."""
    pairs = request.pairs()
    if not pairs:
        raise ApiError(422, "refused", "the webhook has no annotation with its task; let it send its payload")
    if len(pairs) == 1:
        messages = await in_thread(partial(_keep_one, place, *pairs[0], limits))
        return WebhookResult(f"{amount(int(not pairs[0][0].was_cancelled), 'annotation')} kept", messages)
    done = [
        await in_thread(partial(_keep_some, place, pairs[start : start + TOGETHER], limits))
        for start in range(0, len(pairs), TOGETHER)
    ]
    kept = sum(number for number, _ in done)
    return WebhookResult(f"{amount(kept, 'annotation')} kept", [one for _, messages in done for one in messages])


def _keep_some(
    place: LabelStudioProject, pairs: list[tuple[SentAnnotation, TaskOfProject]], limits: Limits
) -> tuple[int, list[str]]:
    """Keep annotations, written to the disk together; one that is refused is left out with a word."""
    kept, messages = 0, list[str]()
    with place.project.database.writing():
        for annotation, task in pairs:
            try:
                with place.project.database.part():
                    messages += _keep_one(place, annotation, task, limits)
                kept += not annotation.was_cancelled
            except (InputError, ApiError) as error:
                messages.append(f"annotation {annotation.id}: {error}")
    return kept, messages


def _keep_one(place: LabelStudioProject, sent: SentAnnotation, task: TaskOfProject, limits: Limits) -> list[str]:
    if sent.was_cancelled:
        place.take_back([sent.id], f"Label Studio user {sent.completed_by}")
        return [f"annotation {sent.id} was skipped in Label Studio, so nothing of it is kept"]
    text = text_under_key(task, place.config.key)
    if text is None:
        raise InputError("the task has no text under the key that the label config names")
    [text] = within_limits([text], limits)
    return place.keep(sent, SentText(task.id or 0, text))


async def _deleted(place: LabelStudioProject, request: WebhookRequest, limits: Limits) -> WebhookResult:
    numbers = [one.id for one in request.annotations or ()]
    messages = await in_thread(lambda: place.take_back(numbers, "Label Studio"))
    return WebhookResult(f"{amount(len(numbers), 'annotation')} deleted in Label Studio", messages)


async def _texts_added(place: LabelStudioProject, request: WebhookRequest, limits: Limits) -> WebhookResult:
    """Add the texts of new tasks; those that no project can take are left out with a word."""
    data = [task.get("data") for task in request.tasks or ()]
    found = [text_under_key(TaskOfProject(data=one), place.config.key) for one in data if isinstance(one, dict)]
    texts = [text for text in found if text is not None and _can_be_kept(text, limits)]
    new = await in_thread(lambda: place.add_texts(texts))
    rest = len(data) - len(texts)
    said = [f"{amount(rest, 'task')} left out: no text, or one that is empty, too long or not valid Unicode"]
    return WebhookResult(f"{amount(new, 'text')} added", said if rest else [])


def _can_be_kept(text: str, limits: Limits) -> bool:
    return bool(text.strip()) and len(text) <= min(limits.characters, LONGEST_TEXT) and is_valid_unicode(text)


ACTIONS: dict[str, Callable[[LabelStudioProject, WebhookRequest, Limits], Awaitable[WebhookResult]]] = {
    "ANNOTATION_CREATED": _kept,
    "ANNOTATIONS_CREATED": _kept,
    "ANNOTATION_UPDATED": _kept,
    "ANNOTATIONS_DELETED": _deleted,
    "TASKS_CREATED": _texts_added,
}
"""What needs a project, by its name in Label Studio."""
