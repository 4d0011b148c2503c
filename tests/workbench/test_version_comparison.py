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


def scores(found):
    return {one.type: (one.before, one.after, one.scope.entities, one.scope.texts) for one in found.rows}


def test_a_gain_without_a_loss_is_a_yes():
    found = compare_versions(BOTH, [compared([BOSTON], [BOSTON, PARIS], [BOSTON, PARIS])] * 20)
    assert found.verdict.use and found.judged == 20
    assert found.verdict.sentence == (
        "Yes: old types keep their F1: artist (20 entities in 20 texts); city, which is new, is found with F1 100.0 "
        "(20 entities in 20 texts)."
    )
    assert scores(found) == {"artist": (100.0, 100.0, 20, 20), "city": (None, 100.0, 20, 20)}


def test_a_drop_is_a_no_and_so_is_a_poor_gain():
    found = compare_versions(BOTH, [compared([BOSTON], [], [BOSTON, PARIS])] * 20)
    assert found.verdict.answer == "no" and "artist dropped by 100" in found.verdict.sentence
    assert "city, which is new, is found with F1 0.00 on 20 entities in 20 texts" in found.verdict.sentence


def test_few_entities_are_a_reason_for_neither():
    worse = compare_versions(BOTH, [compared([BOSTON], [], [BOSTON])] * 2)
    assert worse.verdict.answer == "unknown" and not worse.verdict.use and worse.rows[0].few
    assert worse.verdict.sentence.startswith(
        "Not enough evidence: artist dropped by 100.00 points of F1 (100.00 to 0.00"
    )
    assert "on 2 entities in 2 texts: too few to judge; decide about more" in worse.verdict.sentence
    better = compare_versions(BOTH, [compared([BOSTON], [BOSTON, PARIS], [BOSTON, PARIS])] * 4)
    assert better.verdict.answer == "unknown" and "nothing got worse" in better.verdict.sentence
    assert "artist (4 entities in 4 texts, which say little)" in better.verdict.sentence


def test_a_drop_that_may_be_chance_is_no_no():
    texts = [compared([BOSTON], [BOSTON], [BOSTON])] * 29 + [compared([BOSTON], [], [BOSTON])]
    found = compare_versions(BOTH, texts)
    assert found.verdict.answer == "yes", "one in thirty is within the limit"
    found = compare_versions(BOTH, [*texts, compared([BOSTON], [], [BOSTON])])
    assert found.verdict.answer == "unknown" and not found.rows[0].real
    assert "(100.00 to 96.67) on 31 entities in 31 texts: may be chance" in found.verdict.sentence


def test_a_type_is_scored_where_it_is_complete_and_nowhere_else():
    texts = [
        compared([BOSTON], [BOSTON, PARIS], [BOSTON], complete=["artist"]),
        compared([BOSTON], [BOSTON, PARIS], [PARIS], complete=["city"]),
        compared([BOSTON], [BOSTON, PARIS], [], complete=["city"]),
    ]
    found = compare_versions(BOTH, texts)
    assert scores(found)["artist"] == (100, 100, 1, 1), "what is open is no error"
    assert scores(found)["city"][2:] == (1, 2), "a text without one counts too where the type is complete"


def test_what_a_version_never_learned_has_no_score_and_is_no_drop():
    both = [compared([BOSTON, PARIS], [BOSTON], [BOSTON, PARIS])] * 20
    found = compare_versions(TypesOfBoth(("artist", "city"), ("artist",)), both)
    assert scores(found) == {"artist": (100, 100, 20, 20), "city": (100, None, 20, 20)}
    assert found.verdict.sentence == "No: the new version never learned city."
    neither = compare_versions(TypesOfBoth(("artist",), ("artist",)), both)
    assert scores(neither)["city"] == (None, None, 20, 20) and neither.verdict.use


def test_without_decisions_agreement_on_old_types_decides():
    same = compare_versions(BOTH, [compared([BOSTON], [BOSTON])] * 20)
    assert same.verdict.use and same.verdict.sentence == "Yes: both agree on at least 100.0 % of artist."
    other = compare_versions(BOTH, [compared([BOSTON], [PARIS])] * 20)
    assert other.verdict.answer == "no" and "both agree on only 0.0 % of artist" in other.verdict.sentence
    few = compare_versions(BOTH, [compared([BOSTON], [PARIS])] * 4)
    assert few.verdict.answer == "unknown" and "(4 entities: too few to judge)" in few.verdict.sentence


def test_nothing_known_is_no_yes():
    found = compare_versions(BOTH, [compared([], [])])
    assert found.verdict.sentence.startswith("Not enough evidence: whether it is better is not known yet")
    assert compare_versions(BOTH, []).verdict.answer == "unknown"
