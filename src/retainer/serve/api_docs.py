"""The page /docs: the OpenAPI document as plain HTML, made here. No script, nothing from another host."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from retainer.serve.responses import told

EXAMPLES: dict[str, dict[str, Any]] = {
    "/v1/predict": {"texts": ["play songs by boston on the drive to paris"], "threshold": 0.5},
    "/v1/compare": {"old": "v1", "new": "v2", "texts": ["play songs by boston"]},
}


def reference(app: FastAPI) -> APIRouter:
    """Return the routes of the page, its style and the document."""
    router = APIRouter(include_in_schema=False)

    @router.get("/openapi.json")
    async def openapi() -> Response:
        """Return the document for programs."""
        return told(app.openapi())

    @router.get("/docs")
    async def docs(request: Request) -> Response:
        """Return the same for people, with the address they came by."""
        here = str(request.base_url).rstrip("/")
        return Response(page(app.openapi(), here), media_type="text/html; charset=utf-8")

    @router.get("/docs.css")
    async def style() -> Response:
        """Return what the page looks like."""
        return Response(_file("docs.css"), media_type="text/css; charset=utf-8")

    return router


def page(document: dict[str, Any], here: str) -> str:
    """Lay the document out; whatever it holds is escaped."""
    operations = [
        {
            "method": method.upper(),
            "path": path,
            "about": operation.get("description", ""),
            "asked": _shape(operation.get("requestBody", {}), document),
            "example": json.dumps(EXAMPLES[path]) if path in EXAMPLES else "",
            "answers": [
                (status, answer.get("description", ""), _shape(answer, document))
                for status, answer in operation["responses"].items()
            ],
        }
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    html: str = _template().render(info=document["info"], operations=operations, here=here)
    return html


def _shape(part: dict[str, Any], document: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the fields of a body: their kinds in words, and what they are for."""
    name = _reference(part.get("content", {}).get("application/json", {}).get("schema", {}))
    if not name or name == "Complaint":
        return {}
    schema = document["components"]["schemas"][name]
    needed = schema.get("required", ())
    return {
        field: (_kind(about) + ("" if field in needed else ", optional"), about.get("description", ""))
        for field, about in schema.get("properties", {}).items()
    }


def _reference(schema: dict[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _kind(schema: dict[str, Any]) -> str:
    """Say in words what a value is."""
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"])
    if "items" in schema:
        return f"list of {_kind(schema['items'])}"
    return _reference(schema) or str(schema.get("type", "anything"))


@cache
def _template() -> Any:
    loader = PackageLoader("retainer.serve", "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True).get_template(
        "docs.html.j2"
    )


@cache
def _file(name: str) -> str:
    return files("retainer.serve").joinpath("templates", name).read_text(encoding="utf-8")
