"""One of a thing is not written as many."""

import pytest

from retainer.comparison.agreement import TypeAgreement
from retainer.plurals import amount, entities, sentences
from retainer.report.compare.rows import _fates


@pytest.mark.parametrize("number, said", [(0, "0 sentences"), (1, "1 sentence"), (2, "2 sentences")])
def test_one_and_many(number, said):
    assert sentences(number) == said == amount(number, "sentence")


def test_a_plural_of_its_own():
    assert (entities(1), entities(2)) == ("1 entity", "2 entities")


@pytest.mark.parametrize("kept, said", [(1, "1 is kept,"), (2, "2 are kept,")])
def test_what_is_kept(kept, said):
    assert said in " ".join(_fates(TypeAgreement(kept=kept)))
