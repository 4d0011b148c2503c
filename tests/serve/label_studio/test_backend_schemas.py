"""The OpenAPI document of an ML backend is true: what it allows and forbids is answered as it says, never with 5xx."""

import re

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from pages import ROOT
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from retainer.serve.app import application
from retainer.serve.settings import Settings
from retainer.serve.workbench.served_project import ServedProject
from retainer.workbench.project import Project

CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)
PATHS = ("/health", "/setup", "/predict", "/webhook", "/versions")
CONFIG = '<View><Labels name="l" toName="t"><Label value="City"/></Labels><Text name="t" value="$text"/></View>'


@pytest.fixture(scope="module")
def operations(registry, tmp_path_factory):
    with Project.open(tmp_path_factory.mktemp("made-up") / "project", create=True) as project:
        app = application(registry, Settings(label_studio=True), lambda line: None, ServedProject(project, registry))
        schema = schemathesis.openapi.from_asgi("/openapi.json", app)
        found = [result.ok() for result in schema.get_all_operations()]
        yield {f"{one.method.upper()} {one.path}": one for one in found if one.path in PATHS}


def test_every_address_is_on_the_page(operations):
    page = (ROOT / "docs" / "label-studio.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`((?:GET|POST) /[a-z]+)`", page)) == set(operations) and len(operations) == len(PATHS)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_made_up_requests_are_answered_as_the_document_says(operations, mode):
    for operation in operations.values():
        if mode is GenerationMode.NEGATIVE and operation.method == "get":
            continue

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(
            max_examples=10, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
        )
        def ask(case):
            case.call_and_validate(checks=CHECKS)

        ask()


def test_made_up_annotations_of_a_known_project_are_answered(operations):
    """With a config that can be used and a project that is known, what is made up gets further."""
    actions = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_DELETED", "TASKS_CREATED", "START_TRAINING")

    @given(case=operations["POST /webhook"].as_strategy(generation_mode=GenerationMode.POSITIVE))
    @settings(max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    def ask(case):
        for action in actions:
            task = {"id": 1, "data": {"text": "a table in oslo"}}
            project = {"id": 1, "label_config": CONFIG}
            case.body, case.query = {**case.body, "action": action, "project": project, "task": task}, {}
            case.call_and_validate(checks=CHECKS)

    known = operations["POST /setup"].Case(body={"project": "1.1700000000", "schema": CONFIG})
    assert known.call_and_validate(checks=CHECKS).status_code == 200
    ask()
