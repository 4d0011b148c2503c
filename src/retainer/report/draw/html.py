"""HTML pages that need nothing but a browser: the templates, and the styles and scripts all pages share."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from retainer.report.draw import theme
from retainer.report.draw.charts import chart_css
from retainer.report.draw.runs import valid_text


def render(template: str, finding: Markup, **values: Any) -> str:
    """Fill a template: the finding in one sentence, which search engines and tabs get without markup, and the rest."""
    page = environment().get_template(template)
    return valid_text(page.render(finding=finding, plain_finding=finding.striptags(), styles=styles(), **values))


def environment() -> Environment:
    """Return the templates; whatever is put into them is text, never markup."""
    return Environment(
        loader=PackageLoader("retainer.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def styles() -> dict[str, Markup]:
    """Return the generated part of the style sheet; none of it comes from the user."""
    return {
        "light": Markup(theme.variables(theme.LIGHT)),
        "dark": Markup(theme.variables(theme.DARK)),
        "classes": Markup(theme.classes()),
        "chart": Markup(chart_css()),
    }


def page_script(name: str) -> dict[str, Any]:
    """Return a script for a template, with the hash by which the page's security policy allows it and no other."""
    text = files("retainer.report").joinpath("templates", name).read_text(encoding="utf-8")
    return {"script": Markup(text), "script_hash": base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}
