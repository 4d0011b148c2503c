"""The queue of what is to be taught: whoever asks, by the page or from another tool, asks here."""

from __future__ import annotations

from retainer.errors import InputError
from retainer.workbench.jobs import Job
from retainer.workbench.project import Project
from retainer.workbench.teach_plan import require_teachable
from retainer.workbench.teach_request import TEACH, TeachRequest
from retainer.workbench.training_data import training_data

MOST_WAITING = 20
"""Jobs in the queue."""


def queue_teaching(project: Project, asked: TeachRequest, who: str) -> Job:
    """Put a job into the queue; one that could teach nothing is refused."""
    if project.jobs.waiting() >= MOST_WAITING:
        raise InputError(f"{MOST_WAITING} jobs wait already; cancel one, or wait for one to end")
    require_teachable(training_data(project))
    return project.jobs.add(TEACH, asked.as_dict(), who)
