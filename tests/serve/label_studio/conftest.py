"""ML backends to send requests to, and the requests that Label Studio 1.23 sent to one."""

import asyncio
import copy
import json
from pathlib import Path

import httpx2
import pytest
from benching import workbench
from fastapi import FastAPI
from serving import client_of, loaded

from retainer.serve.guard import Guard
from retainer.serve.label_studio.backend_routes import label_studio_routes
from retainer.serve.responses import add_error_handlers
from retainer.serve.settings import Settings
from retainer.serve.workbench.opening import _join
from retainer.serve.workbench.served_project import ServedProject
from retainer.workbench.project import Project

RECORDED = Path(__file__).parents[2] / "fixtures" / "label_studio"
TOKEN = "a-token-of-some-length"


def recorded(name):
    """A request as it was recorded; a copy, so that a test may change it."""
    return copy.deepcopy(json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8")))


class Replay:
    """Sends what was recorded to a backend."""

    def ask(self, method, path, body=None, **options):
        """Send a request, whether it was recorded or not."""
        raise NotImplementedError

    def replay(self, name, status=None, *, path=None, **body):
        """Send a recorded request, with some fields of its body changed, and return the answer."""
        request = recorded(name)
        sent = {**request["body"], **body} if request["body"] else None
        auth = ("retainer", TOKEN) if request["basic_auth"] else None
        answer = self.ask(request["method"], path or request["path"], sent, headers=request["headers"], auth=auth)
        expected = status or (201 if request["path"] == "/webhook" else 200)
        assert answer.status_code == expected, answer.text
        return answer.json()

    def refused(self, name, status, says, **body):
        error = self.replay(name, status, **body)["error"]
        assert says in error["message"], error
        return error["code"]


class Backend(Replay):
    """The routes of an ML backend behind the guard of the server, in this process."""

    def __init__(self, registry, project=None, settings=None):
        self.project, self.lines = project, []
        self.served = project and ServedProject(project, registry)
        self.settings = settings or Settings(token=TOKEN, label_studio=True)
        self.restart(registry)

    def restart(self, registry):
        """Forget all that is only in memory."""
        app = FastAPI()
        add_error_handlers(app)
        for router in label_studio_routes(registry, self.settings, self.served):
            app.include_router(router)
        self.app = Guard(app, self.settings, self.lines.append)

    def ask(self, method, path, body=None, **options):
        async def run():
            async with client_of(self.app) as client:
                return await client.request(method, path, json=body, **options)

        return asyncio.run(run())

    def said(self, text):
        """What the project says about a text: its entities with their words, who said so, and what is complete."""
        [number] = [one.id for one in self.project.texts.all() if one.text == text]
        found = self.project.annotations.get(number)
        entities = [(text[span.start : span.end], span.type) for span in found.annotation.entities]
        return entities, found.annotation.decided, found.annotation.complete, found.who


class ListeningBackend(Replay):
    """The backend of a server at an address of this machine."""

    def __init__(self, running, client):
        self.running, self.client = running, client

    def ask(self, method, path, body=None, **options):
        return self.client.request(method, path, json=body, **options)

    def workbench(self, method, path, **body):
        """Ask what a person asks, who shows the token."""
        shown = {"Authorization": f"Bearer {TOKEN}"}
        answer = self.ask(method, f"/v1/project{path}", body or None, headers=shown)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture(scope="session")
def registry(pair):
    """Both versions; the first, which finds artists alone, answers."""
    registry = loaded(pair)
    yield registry
    registry.close(seconds=10)


@pytest.fixture
def alone(registry):
    """A backend without a workbench."""
    return Backend(registry)


@pytest.fixture
def kept(registry, tmp_path, pair):
    """A backend with a project that knows both versions."""
    with Project.open(tmp_path / "project", create=True) as project:
        for name, path in pair.items():
            _join(project, registry, name, str(path))
        project.versions.use("v1", "start")
        yield Backend(registry, project)


@pytest.fixture
def announced(kept):
    """The same, after Label Studio has connected."""
    kept.replay("setup")
    return kept


@pytest.fixture
def listening(tmp_path, encoder, pair):
    """A server with a project whose one version finds artists; its jobs have processes of their own."""
    with (
        workbench(tmp_path / "project", encoder, token=TOKEN, label_studio=True, v1=pair["v1"]) as running,
        httpx2.Client(base_url=running.address, timeout=60) as client,
    ):
        yield ListeningBackend(running, client)
