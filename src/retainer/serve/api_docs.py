"""The page /docs: the OpenAPI document as plain HTML, rendered here. No script, nothing from another host."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from retainer.serve.responses import ErrorResponse, json_response

EXAMPLE_REQUESTS: dict[str, dict[str, Any]] = {
    "/v1/predict": {"texts": ["play songs by boston on the drive to paris"], "threshold": 0.5},
    "/v1/compare": {"old": "v1", "new": "v2", "texts": ["play songs by boston"]},
}

CACHED_PAGES = 8
"""A server has few addresses; clients may make up any number of them."""


def docs_routes(app: FastAPI) -> APIRouter:
    """Return the routes of the page, its style sheet and the OpenAPI document."""
    router = APIRouter(include_in_schema=False)

    @lru_cache(maxsize=CACHED_PAGES)
    def page(base_url: str) -> bytes:
        """Render the page once per address: it takes longer than a prediction, and anybody may ask for it."""
        return docs_html(app.openapi(), base_url).encode()

    @router.get("/openapi.json")
    async def openapi() -> Response:
        """Return the document for programs."""
        return json_response(app.openapi())

    @router.get("/docs")
    async def docs(request: Request) -> Response:
        """Return the same for people; its examples use the address of the request."""
        base_url = str(request.base_url).rstrip("/")
        return Response(page(base_url), media_type="text/html; charset=utf-8")

    @router.get("/docs.css")
    async def style() -> Response:
        """Return the style sheet of the page."""
        return Response(_template_file("docs.css"), media_type="text/css; charset=utf-8")

    return router


def docs_html(document: dict[str, Any], base_url: str) -> str:
    """Render the OpenAPI document; everything in it is escaped."""
    operations = [
        {
            "method": method.upper(),
            "path": path,
            "description": operation.get("description", ""),
            "request_fields": _fields(operation.get("requestBody", {}), document),
            "example": json.dumps(EXAMPLE_REQUESTS[path]) if path in EXAMPLE_REQUESTS else "",
            "responses": [
                (status, response.get("description", ""), _fields(response, document))
                for status, response in operation["responses"].items()
            ],
        }
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    html: str = _template().render(info=document["info"], operations=operations, base_url=base_url)
    return html


def _fields(part: dict[str, Any], document: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the fields of a body with their type and description; errors all have the same ones."""
    name = _reference(part.get("content", {}).get("application/json", {}).get("schema", {}))
    if not name or name == ErrorResponse.__name__:
        return {}
    schema = document["components"]["schemas"][name]
    required = schema.get("required", ())
    return {
        field: (_type_name(value) + ("" if field in required else ", optional"), value.get("description", ""))
        for field, value in schema.get("properties", {}).items()
    }


def _reference(schema: dict[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _type_name(schema: dict[str, Any]) -> str:
    """Return the type of a value in words."""
    if "anyOf" in schema:
        return " or ".join(_type_name(one) for one in schema["anyOf"])
    if "items" in schema:
        return f"list of {_type_name(schema['items'])}"
    return _reference(schema) or str(schema.get("type", "anything"))


@cache
def _template() -> Any:
    loader = PackageLoader("retainer.serve", "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True).get_template(
        "docs.html.j2"
    )


@cache
def _template_file(name: str) -> str:
    return files("retainer.serve").joinpath("templates", name).read_text(encoding="utf-8")
