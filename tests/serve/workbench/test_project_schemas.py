"""The OpenAPI document of a workbench is true: what it allows and forbids is answered as it says, never with 5xx."""

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

CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)


@pytest.fixture(scope="module")
def operations(empty_bench):
    schema = schemathesis.openapi.from_asgi("/openapi.json", empty_bench.app)
    found = [result.ok() for result in schema.get_all_operations()]
    return {f"{one.method.upper()} {one.path}": one for one in found if one.path.startswith("/v1/project")}


def test_every_address_is_on_the_page(operations):
    page = (ROOT / "docs" / "workbench.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`((?:GET|POST) /v1/project[a-z0-9/{}]*)`", page)) == set(operations)
    assert {label.partition(" ")[0] for label in operations} == {"GET", "POST"}, "nothing else changes anything"


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_made_up_requests_are_answered_as_the_document_says(operations, empty, mode):
    empty.post("/texts", texts=["play songs by boston"])
    empty.post("/types", action="add", name="city", who="ann")
    for operation in operations.values():
        if mode is GenerationMode.NEGATIVE and operation.method == "get":
            continue

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(
            max_examples=4, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
        )
        def ask(case):
            case.query = {name: value for name, value in (case.query or {}).items() if name != "follow"}
            case.call_and_validate(checks=CHECKS)

        ask()
