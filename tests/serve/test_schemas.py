"""The OpenAPI document is true: what it allows, and what it forbids, is answered the way it says, never with 5xx."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from serving import served

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
)


@pytest.fixture(scope="module")
def server(pair):
    """A server at a port: what is made up goes over a real connection."""
    with served(*pair.values()) as running:
        yield running
        running.stop(force=False)
        assert not running.thread.is_alive(), "it ends once all is answered"
        assert not [line for line in running.registry.lines if "internal error" in line], "nothing failed inside"


OPERATIONS = (
    "GET /healthz",
    "GET /metrics",
    "GET /readyz",
    "GET /v1/versions",
    "POST /v1/compare",
    "POST /v1/predict",
    "POST /v1/reload",
)


@pytest.fixture(scope="module")
def operations(server):
    schema = schemathesis.openapi.from_url(f"{server.address}/openapi.json")
    found = [result.ok() for result in schema.get_all_operations()]
    return {f"{one.method.upper()} {one.path}": one for one in found}


def test_every_operation_is_tried(operations):
    assert sorted(operations) == list(OPERATIONS)


WITH_BODY = ("POST /v1/compare", "POST /v1/predict")
POSITIVE = [(label, GenerationMode.POSITIVE) for label in OPERATIONS]
NEGATIVE = [(label, GenerationMode.NEGATIVE) for label in WITH_BODY]
"""Only a request with a body can be wrong."""


def examples(label):
    """Try few examples of a route without a body, which differ in nothing but their headers."""
    return settings(
        max_examples=25 if label in WITH_BODY else 5,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.parametrize(("label", "mode"), POSITIVE + NEGATIVE, ids=str)
def test_made_up_requests_are_answered_as_the_document_says(operations, label, mode):
    """By hypothesis' own loop: the plugin for pytest does not know this pytest yet."""

    @given(case=operations[label].as_strategy(generation_mode=mode))
    @examples(label)
    def ask(case):
        case.call_and_validate(checks=CHECKS)

    ask()


KNOWN = {
    "POST /v1/compare": {"old": "v1", "new": "v2"},
    "POST /v1/predict": {"version": "v2", "types": ["city"], "threshold": {"city": 0.25}, "calibrated": False},
}


@pytest.mark.parametrize("label", KNOWN)
def test_made_up_texts_get_results(operations, label):
    """With names that exist, every text the document allows is answered."""

    @given(case=operations[label].as_strategy(generation_mode=GenerationMode.POSITIVE))
    @examples(label)
    def ask(case):
        case.body = {**case.body, **KNOWN[label]}
        assert case.call_and_validate(checks=CHECKS).status_code == 200

    ask()
