"""What a version finds, as Label Studio shows it: with the labels of the config.

Its page counts characters (code points), as we do, and not what JavaScript counts: tried with an emoji in 1.23.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from retainer.errors import shortened
from retainer.plurals import entities as entities_in_words
from retainer.serve.batches import Entities
from retainer.serve.label_studio.bodies import TaskOfProject
from retainer.serve.label_studio.label_config import LabelConfig

MOST_NAMED = 10
"""Tasks or types that a message names."""
_UNDEFINED = "$undefined$"
"""Where Label Studio keeps the text of a task that was imported before there was a label config."""


class TaskPredictions:
    """Puts predictions together for the tasks of a request, and notes what is left out."""

    def __init__(self, config: LabelConfig, labels: Mapping[str, str], model_version: str) -> None:
        """``labels`` has the label of every type that has one."""
        self.config, self.labels, self.model_version = config, labels, model_version
        self.left_out: Counter[str] = Counter()
        self.without_text: list[str] = []

    def of_task(self, task: TaskOfProject, text: str | None, entities: Entities) -> dict[str, Any]:
        """Return the prediction of a task; one without a text has an empty one."""
        if text is None:
            self.without_text.append("a task" if task.id is None else f"task {task.id}")
        known = [one for one in entities if one["entity_group"] in self.labels]
        self.left_out.update(one["entity_group"] for one in entities if one["entity_group"] not in self.labels)
        result = [self._region(number, one, text or "") for number, one in enumerate(known, 1)]
        score = min((one["score"] for one in result), default=None)
        return {"result": result, "score": score, "model_version": self.model_version}

    def _region(self, number: int, entity: Mapping[str, Any], text: str) -> dict[str, Any]:
        start, end = entity["start"], entity["end"]
        value = {
            "start": start,
            "end": end,
            "text": text[start:end],
            "labels": [self.labels[entity["entity_group"]]],
        }
        names = {"from_name": self.config.from_name, "to_name": self.config.to_name}
        return {"id": f"e{number}", **names, "type": "labels", "value": value, "score": float(entity["score"])}

    def messages(self) -> list[str]:
        """Say what was left out."""
        said = []
        if self.without_text:
            key = shortened(self.config.key)
            said.append(f"no text under {key!r}: {_some(self.without_text)}")
        if self.left_out:
            count = entities_in_words(self.left_out.total())
            said.append(f"{count} left out, because no label of the config means the type: {_some(self.left_out)}")
        return said


def label_messages(config: LabelConfig, types: Sequence[str]) -> list[str]:
    """Say which types of a version have no label, and which labels no type yet."""
    labels = config.labels_by_type(types)
    strange = [type_ for type_ in types if type_ not in labels]
    new = [label.name for label in config.labels if label.name not in labels.values()]
    said = []
    if strange:
        said.append(f"left out of predictions, because no label of the config means the type: {_some(strange)}")
    if new:
        said.append(f"not found yet, because the version knows no type for the label: {_some(new)}")
    return said


def _some(names: Sequence[str] | Counter[str]) -> str:
    shown = [shortened(name) for name in list(names)[:MOST_NAMED]]
    return ", ".join(shown) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


def text_under_key(task: TaskOfProject, key: str) -> str | None:
    """Return the text of a task, if it has one."""
    found = task.data.get(key, task.data.get(_UNDEFINED))
    return found if isinstance(found, str) else None
