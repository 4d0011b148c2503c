"""What is worth looking at next, and the sentence that says why."""

import pytest

from retainer.data.spans import Span
from retainer.workbench.next_texts import Candidate, VersionNames, order_by_worth, unseen
from retainer.workbench.texts import StoredText

TEXT = "play songs by boston on the drive to paris"
BOSTON, PARIS = Span(14, 20, "artist"), Span(37, 42, "city")
SONGS = Span(5, 20, "artist")
NAMES = VersionNames("v2", "v1")
MANY = {"artist": 99, "city": 99}


def candidate(number, found, before=None):
    return Candidate(StoredText(number, TEXT, "", "", False), found, before)


@pytest.mark.parametrize(
    ("found", "before", "examples", "says"),
    [
        ({PARIS: 0.99}, {}, MANY, "v2 finds “paris” (city), v1 did not."),
        ({}, {PARIS: 0.99}, MANY, "v1 found “paris” (city), v2 does not."),
        ({Span(14, 20, "city"): 0.99}, {BOSTON: 0.9}, MANY, "“boston” is city for v2 and was artist for v1."),
        ({SONGS: 0.99}, {BOSTON: 0.9}, MANY, "v2 finds “songs by boston” (artist) where v1 found “boston”."),
        ({PARIS: 0.41, BOSTON: 0.8}, None, MANY, "v2 is not sure of “paris” (city, 0.41)."),
        ({PARIS: 0.95}, {PARIS: 0.9}, {"city": 3}, "city has few examples yet (3), and “paris” may be one."),
        ({PARIS: 0.95}, None, MANY, "v2 is sure of what it finds here; drawn at random."),
        ({}, {}, MANY, "v2 finds nothing here: look whether it misses something."),
    ],
)
def test_every_reason_is_a_sentence(found, before, examples, says):
    [one] = order_by_worth([candidate(1, found, before)], examples, NAMES)
    assert one.why == says


def test_disagreement_comes_before_doubt_and_that_before_the_rest():
    texts = [
        candidate(1, {}),
        candidate(2, {PARIS: 0.95}),
        candidate(3, {PARIS: 0.6}),
        candidate(4, {PARIS: 0.95}, {}),
        candidate(5, {PARIS: 0.6}, {}),
    ]
    assert [one.text.id for one in order_by_worth(texts, MANY, NAMES)] == [5, 4, 3, 1, 2]


def test_without_a_version_any_text_is_good():
    assert unseen(StoredText(1, TEXT, "", "", False)).why.startswith("No version has looked at it yet")


def test_many_texts_are_drawn_at_random_without_a_decision(project):
    project.texts.add([f"text {at}" for at in range(50)], "x")
    drawn = [text.id for text in project.texts.draw(10)]
    assert drawn != sorted(drawn) and drawn == [text.id for text in project.texts.draw(10)]
    assert not set(drawn[:5]) & {text.id for text in project.texts.draw(10, skip=drawn[:5])}
    held_back = project.texts.draw_held_back(100, decided=False)
    assert len(held_back) == project.texts.held_back() and all(text.held_back for text in held_back)
    assert project.texts.draw_held_back(100, decided=True) == ()
