"""The label config of a Label Studio project: which labels there are, and where in a task the text stands.

The config is XML that a client sends. Nothing in it is expanded or fetched, and its size and depth are bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from retainer.errors import InputError, quoted
from retainer.serve.label_studio.config_tags import ConfigTag, tags_of_config

MOST_LABELS = 2000
LONGEST_NAME = 500
"""Characters of a label or of a tag's name."""
_KEPT_CONFIGS = 32
"""Label Studio sends the same config with nearly every request."""


@dataclass(frozen=True)
class LabelOfConfig:
    """A label as results name it, and the types that stand for it."""

    name: str
    """What stands in results: its alias, or else its value."""
    types: tuple[str, ...]
    """Names of types that mean it, the surest first: those it says itself (``predicted_values``), name and value."""


@dataclass(frozen=True)
class LabelConfig:
    """What is needed of a config to mark entities."""

    from_name: str
    """The name of the tag with the labels."""
    to_name: str
    """The name of the tag with the text."""
    key: str
    """Where the text stands in the data of a task."""
    labels: tuple[LabelOfConfig, ...]

    def labels_by_type(self, types: Iterable[str]) -> dict[str, str]:
        """Return the label of every type that has one: written alike, or else alike but for upper and lower case."""
        exact, folded = self._labels(str), self._labels(str.casefold)
        found = {type_: exact.get(type_, folded.get(type_.casefold())) for type_ in types}
        return {type_: label for type_, label in found.items() if label is not None}

    def types_by_label(self, known: Iterable[str]) -> dict[str, str]:
        """Return the type of every label: one that is known and means it, or else a new one of its name."""
        known = list(known)
        exact = {type_: type_ for type_ in known}
        folded = {type_.casefold(): type_ for type_ in reversed(known)}
        return {label.name: _type_of(label, exact, folded) for label in self.labels}

    def _labels(self, form: Callable[[str], str]) -> dict[str, str]:
        table: dict[str, str] = {}
        for label in self.labels:
            for type_ in label.types:
                table.setdefault(form(type_), label.name)
        return table


def _type_of(label: LabelOfConfig, exact: dict[str, str], folded: dict[str, str]) -> str:
    for type_ in label.types:
        if type_ in exact:
            return type_
    return next((folded[type_.casefold()] for type_ in label.types if type_.casefold() in folded), label.name)


@lru_cache(maxsize=_KEPT_CONFIGS)
def parse_label_config(xml: str) -> LabelConfig:
    """Find the one tag that labels a text, or refuse the config in a sentence."""
    tags = tags_of_config(xml)
    texts = {tag.attributes.get("name", ""): tag for tag in tags if tag.name == "Text"}
    controls = [tag for tag in tags if tag.name == "Labels" and texts.keys() & set(_targets(tag))]
    if not texts or not controls:
        missing = "<Text>" if not texts else "<Labels> whose toName is the name of a <Text>"
        raise InputError(f"the label config has no {missing}; retainer marks entities in plain text")
    if len(controls) > 1 or len(_targets(controls[0])) > 1:
        names = ", ".join(quoted(name) for control in controls for name in _targets(control))
        raise InputError(
            f"the label config labels several texts or one twice ({names}); keep one <Labels> of one <Text>"
        )
    [to_name] = _targets(controls[0])
    from_name = controls[0].attributes.get("name", "")
    return LabelConfig(_named(from_name), _named(to_name), _key(texts[to_name]), _labels(tags, controls[0]))


def _targets(control: ConfigTag) -> list[str]:
    return [name.strip() for name in control.attributes.get("toName", "").split(",")]


def _named(name: str) -> str:
    if not name or len(name) > LONGEST_NAME:
        raise InputError(f"a tag of the label config has the name {quoted(name)}; give it a short one")
    return name


def _key(text: ConfigTag) -> str:
    value, kind = text.attributes.get("value", ""), text.attributes.get("valueType", "text")
    if kind != "text":
        raise InputError(f"the <Text> of the label config has valueType {quoted(kind)}; nothing is fetched, use text")
    if not value.startswith("$") or len(value) < 2:
        raise InputError(f"the <Text> of the label config has value {quoted(value)}; it must name a key, such as $text")
    return value[1:]


def _labels(tags: list[ConfigTag], control: ConfigTag) -> tuple[LabelOfConfig, ...]:
    found = [_label(tag) for tag in tags if tag.name == "Label" and tag.control is control]
    if not found:
        raise InputError("the <Labels> of the label config has no <Label> in it; add the types of your entities")
    if len(found) > MOST_LABELS:
        raise InputError(f"the label config has {len(found)} labels, and may have {MOST_LABELS}")
    [(twice, times)] = Counter(label.name for label in found).most_common(1)
    if times > 1:
        raise InputError(f"the label config has the label {quoted(twice)} twice; keep one")
    return tuple(found)


def _label(tag: ConfigTag) -> LabelOfConfig:
    value, alias = (tag.attributes.get(name, "").strip() for name in ("value", "alias"))
    name = alias or value
    if not value or value.startswith("$") or len(name) > LONGEST_NAME:
        raise InputError(f"a <Label> of the label config has the value {quoted(value)}; it must be a short name")
    said = [one.strip() for one in tag.attributes.get("predicted_values", "").split(",")]
    return LabelOfConfig(name, tuple(dict.fromkeys(one for one in (*said, name, value) if one)))
