"""What is said when the answer is no: a status, a code for programs and one sentence for people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException

RETRY = {"Retry-After": "1"}
SAID = 3
"""How much of what is wrong with a question is told."""

_BY_STATUS = {
    400: ("bad_request", "the body could not be read as JSON in UTF-8"),
    404: ("not_found", "there is nothing here; /docs lists what there is"),
    405: ("method_not_allowed", "this address knows another method; the header Allow names it"),
}


class Problem(BaseModel):
    """What went wrong."""

    code: str
    """For programs: stays the same from release to release."""
    message: str
    """For people: one sentence."""


class Complaint(BaseModel):
    """Every answer that is no result."""

    error: Problem


class Refusal(Exception):
    """An answer that is no result."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        """Say no: with a status, a code for programs, and one sentence."""
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, dict(headers or {})

    def response(self) -> Response:
        """Return it as an answer."""
        body = {"error": {"code": self.code, "message": " ".join(self.message.split())}}
        return told(body, self.status, self.headers)


def told(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a document as an answer; ASCII alone, so that no character of a text can break anything on the way."""
    content = json.dumps(document, allow_nan=False, separators=(",", ":"))
    return Response(content, status, headers, media_type="application/json")


def our_fault() -> Refusal:
    """Return what is said when we failed: nothing of what was in our hands gets out."""
    return Refusal(500, "our_fault", "something went wrong here, and the log of the server says what")


def speak_one_way(app: FastAPI) -> None:
    """Make whatever the framework says of its own accord look like everything else."""

    async def refusal(_: Request, error: Exception) -> Response:
        assert isinstance(error, Refusal)
        return error.response()

    async def by_status(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        code, message = _BY_STATUS.get(error.status_code, ("refused", "this cannot be answered"))
        return Refusal(error.status_code, code, message, error.headers).response()

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return _invalid(error).response()

    async def fault(_: Request, error: Exception) -> Response:
        return our_fault().response()

    for kind, answer in ((Refusal, refusal), (HTTPException, by_status), (RequestValidationError, invalid)):
        app.add_exception_handler(kind, answer)
    app.add_exception_handler(Exception, fault)


def _invalid(error: RequestValidationError) -> Refusal:
    """Name the first thing that is wrong. What was sent is not repeated: it may be long, or no text at all."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return Refusal(
            400, "invalid_json", f"the body is no JSON: {first['ctx']['error']}, at character {first['loc'][1]}"
        )
    field = first["loc"][1:2]
    said = [f"{_place(one['loc'])}{one['msg']}" for one in error.errors()[:SAID] if one["loc"][1:2] == field]
    return Refusal(422, "invalid_request", _printable("; or ".join(dict.fromkeys(said))))


def _place(loc: Sequence[object]) -> str:
    """Name a field, and the number in a list; what the framework calls the kinds it tried is left out."""
    numbers = "".join(f"[{part}]" for part in loc[2:] if isinstance(part, int))
    return f"{str(loc[1])[:80]}{numbers}: " if loc[1:] else "the body: "


def _printable(sentence: str) -> str:
    """Make a sentence of what a stranger may have had a hand in, such as a key of an object."""
    return "".join(one if one.isprintable() else "\ufffd" for one in sentence)


def is_whole(text: str) -> bool:
    """Tell whether a text is valid Unicode: JSON can spell halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
