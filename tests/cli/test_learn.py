"""The last lines of `retainer learn`: what they call the score of an epoch, and what they call poor."""

import pytest

from retainer.cli.verbs.learn import _dev_score, _is_poor
from retainer.versions.lineage import Lineage


def record(f1, support, dev=None, **data):
    score = {"precision": f1, "recall": f1, "f1": f1, "support": support}
    return Lineage(
        tasks=(("city",),),
        data={"dev_sentences": 20, "dev_given": False, **data},
        recipe={"select": "new"},
        scores={"dev": dev, "per_type": {"city": score}},
    )


@pytest.mark.parametrize(("support", "poor"), [(1, False), (4, False), (5, True), (120, True)])
def test_a_handful_of_entities_is_not_called_poor(support, poor):
    assert _is_poor(record(0.0, support)) == _is_poor(record(0.0, support, dev=0.0)) == poor
    assert not _is_poor(record(90.0, support))


def test_what_was_set_aside_is_not_called_dev():
    assert _dev_score(record(97.1, 120, dev=97.1)) == "F1        97.10 on the new types, 120 entities set aside"
    assert _dev_score(record(97.1, 120, dev=97.1, dev_given=True)) == "dev F1    97.10 on the new types"
    assert "not used to choose" in _dev_score(record(97.1, 12))
