"""Sentences with any entities in them, for tests that draw their cases."""

from hypothesis import strategies as st

from retainer.data.spans import Sentence, Span

TYPES = st.sampled_from(["PER", "LOC", "B-X", "O", "work of art", "I"])
"""Names of types, some of which look like tags."""


@st.composite
def sentences(draw):
    """Draw a sentence of up to eight words with entities that do not overlap."""
    size = draw(st.integers(1, 8))
    cuts = sorted(draw(st.sets(st.integers(0, size))))
    spans = [Span(start, end, draw(TYPES)) for start, end in zip(cuts, cuts[1:], strict=False) if draw(st.booleans())]
    return Sentence(tuple(f"w{i}" for i in range(size)), tuple(spans))
