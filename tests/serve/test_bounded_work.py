"""What a request costs is bounded before its texts are looked at, however wrong it is."""

from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from retainer.serve import routes
from retainer.serve.schemas import MAX_NAMES, PredictRequest

MANY = 50_000


@pytest.mark.parametrize(
    "fields",
    [
        {"texts": [1] * MANY},
        {"texts": "a", "types": [1] * MANY},
        {"texts": "a", "types": ["city"] * MANY},
        {"texts": "a", "threshold": {str(number): "x" for number in range(MANY)}},
        {"texts": "a", "threshold": {str(number): 0.5 for number in range(MANY)}},
        {"texts": "a", **{str(number): 1 for number in range(MANY)}},
    ],
    ids=["texts", "types", "names", "wrong thresholds", "thresholds", "fields"],
)
def test_a_request_that_is_wrong_in_many_places_gets_few_errors(fields):
    with pytest.raises(ValidationError) as caught:
        PredictRequest.model_validate(fields)
    assert caught.value.error_count() <= MAX_NAMES + 2


def test_the_first_unknown_field_is_the_one_that_is_named():
    with pytest.raises(ValidationError) as caught:
        PredictRequest.model_validate({"z": 1, "texts": "a", "b": 1, "a": 1})
    assert [error["loc"] for error in caught.value.errors()] == [("z",)]


def test_entities_are_looked_up_and_not_searched_for():
    """Searching a list of names once per entity held the event loop for seconds."""

    class Names(list):
        def __contains__(self, name):
            raise AssertionError("searched")

    served = SimpleNamespace(name="v1", hash="0", version=SimpleNamespace(types=("city", "artist")))
    request = SimpleNamespace(types=Names(["city"] * MAX_NAMES), calibrated=False)
    found = [{"entity_group": type_, "score": 1.0} for type_ in ("artist", "city")]
    response = routes._prediction(request, served, {}, [found])
    assert b'"city"' in response.body and b'"artist"' not in response.body
