"""JSON responses, and errors in one form: a status, a code for programs and one sentence for people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException

RETRY_HEADERS = {"Retry-After": "1"}
MAX_REPORTED_ERRORS = 3
"""How many errors of one field a message lists."""
MAX_MESSAGE_LENGTH = 500
"""Characters: a message may repeat what a client sent, but not all of it."""

_BY_STATUS = {
    400: ("bad_request", "the body could not be read as JSON in UTF-8"),
    404: ("not_found", "there is nothing at this address; /docs lists the addresses"),
    405: ("method_not_allowed", "this address takes another method; the header Allow names it"),
}


class ErrorDetail(BaseModel):
    """What went wrong."""

    code: str
    """For programs: stays the same from release to release."""
    message: str
    """For people: one sentence."""


class ErrorResponse(BaseModel):
    """The body of every response that is not a result."""

    error: ErrorDetail


class ApiError(Exception):
    """Ends a request with an error response."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        headers: Mapping[str, str] | None = None,
        beside: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep the status, the code for programs, the sentence for people, and what stands beside them."""
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, dict(headers or {})
        self.beside = dict(beside or {})

    def response(self) -> Response:
        """Return the response to send."""
        body = {"error": {"code": self.code, "message": _bounded(" ".join(self.message.split()))}, **self.beside}
        return json_response(body, self.status, self.headers)


def _bounded(message: str) -> str:
    return message if len(message) <= MAX_MESSAGE_LENGTH else message[: MAX_MESSAGE_LENGTH - 1] + "\u2026"


def json_response(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a document as a response, in ASCII, so that no character of a text can be damaged on the way."""
    content = json.dumps(document, allow_nan=False, separators=(",", ":"))
    return Response(content, status, headers, media_type="application/json")


def bad_request() -> ApiError:
    """Return the error for a body that is not JSON in UTF-8."""
    return ApiError(400, *_BY_STATUS[400])


def internal_error() -> ApiError:
    """Return the error for a failure of the server itself; it reveals nothing of the request."""
    return ApiError(500, "our_fault", "the server failed; its log says where")


def stopping_error() -> ApiError:
    """Return the error for a request that a server at its end no longer answers."""
    return ApiError(503, "stopping", "the server was stopped before it could answer", {"Connection": "close"})


def add_error_handlers(app: FastAPI) -> None:
    """Give the errors that the framework raises the same form as all others."""

    async def api_error(_: Request, error: Exception) -> Response:
        """Answer what a route refuses."""
        assert isinstance(error, ApiError)
        return error.response()

    async def http_error(_: Request, error: Exception) -> Response:
        """Answer what no route takes: an address or a method that is not there."""
        assert isinstance(error, HTTPException)
        code, message = _BY_STATUS.get(error.status_code, ("refused", "this request cannot be answered"))
        return ApiError(error.status_code, code, message, error.headers).response()

    async def validation_error(_: Request, error: Exception) -> Response:
        """Answer a body that does not fit: the framework would repeat it, and all that is wrong with it."""
        assert isinstance(error, RequestValidationError)
        return _validation_error(error).response()

    async def unexpected(_: Request, error: Exception) -> Response:
        """Answer a fault of ours without a word about the request."""
        return internal_error().response()

    for kind, handler in (
        (ApiError, api_error),
        (HTTPException, http_error),
        (RequestValidationError, validation_error),
        (Exception, unexpected),
    ):
        app.add_exception_handler(kind, handler)


def _validation_error(error: RequestValidationError) -> ApiError:
    """Name the first field that is wrong. Its value is not repeated: it may be long, or not a text at all."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return ApiError(
            400, "invalid_json", f"the body is not JSON: {first['ctx']['error']}, at character {first['loc'][1]}"
        )
    field = first["loc"][1:2]
    messages = [
        f"{_location(one['loc'])}{one['msg']}"
        for one in error.errors()[:MAX_REPORTED_ERRORS]
        if one["loc"][1:2] == field
    ]
    return ApiError(422, "invalid_request", _printable("; or ".join(dict.fromkeys(messages))))


def _location(loc: Sequence[object]) -> str:
    """Name a field and the index in a list; the framework's names for the kinds it tried are left out."""
    indices = "".join(f"[{part}]" for part in loc[2:] if isinstance(part, int))
    return f"{str(loc[1])[:80]}{indices}: " if loc[1:] else "the body: "


def _printable(sentence: str) -> str:
    """Replace control characters, which a client may have sent as the key of an object."""
    return "".join(character if character.isprintable() else "\ufffd" for character in sentence)


def is_valid_unicode(text: str) -> bool:
    """Return whether a text is free of lone surrogates, which JSON can spell and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
