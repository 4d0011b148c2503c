"""All routes of a project."""

from __future__ import annotations

from fastapi import APIRouter

from retainer.serve.settings import Settings
from retainer.serve.workbench.change_routes import change_routes, reverse_routes
from retainer.serve.workbench.look_routes import look_routes, text_routes
from retainer.serve.workbench.served_project import ServedProject
from retainer.serve.workbench.teach_routes import job_routes, teach_routes
from retainer.serve.workbench.use_routes import use_routes


def project_routes(served: ServedProject, settings: Settings) -> tuple[APIRouter, ...]:
    """Return the routes under /v1/project."""
    return (
        look_routes(served),
        text_routes(served),
        change_routes(served, settings),
        reverse_routes(served),
        teach_routes(served),
        job_routes(served),
        use_routes(served),
    )
