"""The tags of a label config, read out of XML that anybody may have written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from xml.parsers import expat

from retainer.errors import InputError

LONGEST_CONFIG = 2**18
"""Characters; one with a thousand labels has fewer than a hundred thousand."""
_DEEPEST = 100
"""Tags inside each other."""


@dataclass(frozen=True, eq=False)
class ConfigTag:
    """A tag of a label config."""

    name: str
    attributes: Mapping[str, str]
    control: ConfigTag | None
    """The ``<Labels>`` that it stands in."""


def tags_of_config(xml: str) -> list[ConfigTag]:
    """Return all tags in their order. What a document type could declare or fetch is refused with it."""
    if len(xml) > LONGEST_CONFIG:
        raise InputError(f"the label config has {len(xml)} characters, and may have {LONGEST_CONFIG}")
    reader = _TagReader()
    try:
        reader.parser.Parse(xml.encode(), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise InputError(f"the label config is not whole XML ({reason}, line {error.lineno})") from None
    except UnicodeEncodeError:
        raise InputError("the label config holds half a character (a lone surrogate); remove it") from None
    return reader.tags


class _TagReader:
    """Listens to the parser."""

    def __init__(self) -> None:
        self.tags: list[ConfigTag] = []
        self.path: list[ConfigTag] = []
        self.parser = expat.ParserCreate("utf-8")
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end

    def _doctype(self, *_: object) -> None:
        raise InputError("the label config has a DOCTYPE, which could fetch or hide anything; remove it")

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        if len(self.path) == _DEEPEST:
            raise InputError(f"the label config has more than {_DEEPEST} tags inside each other")
        inside = self.path[-1] if self.path else None
        control = inside if inside is not None and inside.name == "Labels" else inside and inside.control
        self.path.append(ConfigTag(name, attributes, control))
        self.tags.append(self.path[-1])

    def _end(self, _: str) -> None:
        self.path.pop()
