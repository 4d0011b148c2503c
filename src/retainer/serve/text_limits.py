"""What a text in a request may be; every route that takes texts asks here."""

from __future__ import annotations

from retainer.serve.responses import ApiError, is_valid_unicode
from retainer.serve.settings import Limits


def within_limits(texts: list[str], limits: Limits) -> list[str]:
    """Refuse more texts or characters than a request may hold."""
    if len(texts) > limits.texts:
        raise ApiError(422, "too_many_texts", f"a request may hold {limits.texts} texts, this one holds {len(texts)}")
    for number, text in enumerate(texts, 1):
        if len(text) > limits.characters:
            raise ApiError(
                422, "text_too_long", f"a text may have {limits.characters} characters, text {number} has {len(text)}"
            )
        if not is_valid_unicode(text):
            raise ApiError(422, "invalid_text", f"text {number} holds half a character (a lone surrogate)")
    return texts
