"""When sentences count as picked for a type: more than half of them have it."""

import pytest

from retainer.data.picked import are_picked, picked_for, share_having
from retainer.data.spans import Sentence, Span

CITY = Sentence(("to", "paris"), (Span(1, 2, "city"),))
ARTIST = Sentence(("play", "genesis"), (Span(1, 2, "artist"),))
NOTHING = Sentence(("well",), ())


@pytest.mark.parametrize(
    ("sentences", "types", "share"),
    [
        ((), ["city"], 0.0),
        ((CITY, CITY, NOTHING), ["city"], 2 / 3),
        ((CITY, NOTHING), ["city"], 0.5),
        ((CITY, CITY, NOTHING), ["artist"], 0.0),
        ((CITY, ARTIST, NOTHING), ["artist", "city"], 2 / 3),
    ],
)
def test_more_than_half(sentences, types, share):
    assert share_having(sentences, types) == pytest.approx(share) and are_picked(sentences, types) == (share > 0.5)


def test_all_types_in_one_pass():
    both = Sentence(("miles", "in", "paris"), (Span(0, 1, "artist"), Span(2, 3, "city")))
    sentences = (CITY, CITY, both, ARTIST, NOTHING)
    assert picked_for(sentences) == {"city": 3}
    assert all(are_picked(sentences, [one]) == (one in picked_for(sentences)) for one in ("artist", "city"))
    assert picked_for(()) == {}
