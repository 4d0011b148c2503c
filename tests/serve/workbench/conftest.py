"""A workbench to send requests to: a project over the tiny versions, in this process."""

import asyncio
import contextlib
import json

import pytest
from serving import client_of, loaded

from retainer.serve.app import application
from retainer.serve.settings import Settings
from retainer.serve.workbench.opening import _join
from retainer.serve.workbench.served_project import ServedProject
from retainer.workbench.project import Project


class Bench:
    """A project behind an application, which takes a second to make and so serves one project after the other."""

    def __init__(self, registry):
        self.registry = registry
        self.served = ServedProject(None, registry)
        self.app = application(registry, Settings(), lambda line: None, self.served)

    @contextlib.contextmanager
    def over(self, folder, **models):
        """Serve a new project, with these versions of the registry."""
        with Project.open(folder, create=True) as self.project:
            self.served.__init__(self.project, self.registry)
            for name, path in models.items():
                _join(self.project, self.registry, name, str(path))
            for name in list(models)[:1]:
                self.project.versions.use(name, "start")
                self.served._lead(name)
            yield self
            for name in [*set(self.registry.paths) - set(models)]:
                asyncio.run(self.registry.drop(name))

    def respond(self, method, path, /, **body):
        async def run():
            async with client_of(self.app) as client:
                sent = {"content": json.dumps(body), "headers": {"content-type": "application/json"}}
                return await client.request(method, path, **(sent if method == "POST" else {}))

        return asyncio.run(run())

    def get(self, path):
        response = self.respond("GET", f"/v1/project{path}")
        assert response.status_code == 200, response.text
        return response.json()

    def post(self, path, status=200, /, **body):
        response = self.respond("POST", f"/v1/project{path}", **body)
        assert response.status_code == status, response.text
        return response.json()

    def refused(self, path, says, /, **body):
        error = self.post(path, 422, **body)["error"]
        assert says in error["message"], error
        return error["code"]


@pytest.fixture(scope="session")
def empty_bench():
    return Bench(loaded({}))


@pytest.fixture(scope="session")
def full_bench(pair):
    registry = loaded(pair)
    yield Bench(registry)
    registry.close(seconds=10)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "project"


@pytest.fixture
def empty(folder, empty_bench):
    """A workbench without any version."""
    with empty_bench.over(folder) as bench:
        yield bench


@pytest.fixture
def bench(folder, full_bench, pair):
    """A workbench with two versions; the first is in use."""
    with full_bench.over(folder, **pair) as bench:
        yield bench
