"""Whether to use a new version: by scores where decisions tell, by agreement elsewhere."""

from retainer.data.spans import Span
from retainer.workbench.annotation import Annotation
from retainer.workbench.texts import StoredText
from retainer.workbench.version_comparison import ComparedText, TypesOfBoth, compare_versions

TEXT = "play songs by boston on the drive to paris"
BOSTON, PARIS = Span(14, 20, "artist"), Span(37, 42, "city")
BOTH = TypesOfBoth(("artist",), ("artist", "city"))


def compared(old, new, gold=None, complete=("artist", "city")):
    said = None if gold is None else Annotation(tuple(gold), True, tuple(complete))
    return ComparedText(StoredText(1, TEXT, "", "", True), said, old, new)


def test_a_gain_without_a_loss_is_a_yes():
    found = compare_versions(BOTH, [compared([BOSTON], [BOSTON, PARIS], [BOSTON, PARIS])] * 4)
    assert found.use and found.judged == 4
    assert found.sentence == (
        "Yes: old types that can be scored (artist) keep their F1; city is found with F1 100.0 "
        "(on 4 held-back texts with a decision)."
    )
    assert {type_: (one.old and one.old.f1, one.new.f1) for type_, one in found.scores} == {
        "artist": (100.0, 100.0),
        "city": (None, 100.0),
    }


def test_a_drop_is_a_no_and_so_is_a_poor_gain():
    found = compare_versions(BOTH, [compared([BOSTON], [], [BOSTON, PARIS])] * 4)
    assert not found.use and "artist dropped by 100" in found.sentence and "city, which is new" in found.sentence


def test_a_type_is_scored_where_it_is_complete_and_nowhere_else():
    texts = [
        compared([BOSTON], [BOSTON, PARIS], [BOSTON], complete=["artist"]),
        compared([BOSTON], [BOSTON, PARIS], [PARIS], complete=["city"]),
    ]
    scores = dict(compare_versions(BOTH, texts).scores)
    assert scores["city"].new.f1 == scores["artist"].new.f1 == 100, "what is open is no error"


def test_without_decisions_agreement_on_old_types_decides():
    same = compare_versions(BOTH, [compared([BOSTON], [BOSTON])] * 4)
    assert same.use and same.sentence == "Yes: both agree on at least 100.0 % of artist."
    other = compare_versions(BOTH, [compared([BOSTON], [PARIS])] * 4)
    assert not other.use and "of artist the versions agree on 0.0 % alone" in other.sentence


def test_nothing_known_is_no_yes():
    found = compare_versions(BOTH, [compared([], [])])
    assert not found.use and found.sentence.startswith("No: whether it is better is not known yet")
    assert not compare_versions(BOTH, []).use
