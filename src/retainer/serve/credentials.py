"""What a request shows to prove that it may ask: the token, as a bearer or as the password of basic authentication."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping

WEBHOOK_PURPOSE = b"retainer: the webhook of Label Studio"


def shows_token(headers: Mapping[str, str], token: str, *, basic: bool = False) -> bool:
    """Return whether the right token is shown; compared in constant time, so that no time reveals a part of it.

    With ``basic`` it may also be the password of any user.
    """
    scheme, _, shown = headers.get("authorization", "").partition(" ")
    shown = shown.strip()
    if basic and scheme.lower() == "basic":
        return hmac.compare_digest(_password(shown), token.encode())
    return hmac.compare_digest(shown.encode(), token.encode()) and scheme.lower() == "bearer"


def webhook_secret(token: str) -> str:
    """Return what may stand in the address of a webhook; the token cannot be computed from it."""
    return hmac.new(token.encode(), WEBHOOK_PURPOSE, hashlib.sha256).hexdigest()[:40]


def shows_secret(shown: str, token: str) -> bool:
    """Return whether the address of a webhook has the right secret; without a token there is none."""
    return bool(token) and hmac.compare_digest(shown.encode(errors="replace"), webhook_secret(token).encode())


def _password(encoded: str) -> bytes:
    """Return the password of basic authentication, or nothing where it cannot be read."""
    try:
        return base64.b64decode(encoded, validate=True).partition(b":")[2]
    except (binascii.Error, ValueError):
        return b""
