"""What versions find in texts of a project: asked for in the queue of the version, and kept for a while."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from retainer.data.spans import Span
from retainer.serve.batches import Entities
from retainer.serve.registry import ServedVersion
from retainer.serve.responses import RETRY_HEADERS, ApiError
from retainer.workbench.next_texts import FoundEntities
from retainer.workbench.texts import StoredText

MOST_KEPT = 200_000
"""Texts and entities together that are kept in memory: some tens of megabytes."""
_CHUNK = 32
"""Texts that are asked for at once, so that other clients take turns."""
FEW_AT_ONCE = 4
"""Texts that are asked for at once where somebody waits, or should not have to wait behind them."""


class Predictions:
    """What versions find in texts, by the hash of the version and the number of the text."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, int], FoundEntities] = OrderedDict()
        self._size = 0

    async def found(
        self,
        served: ServedVersion,
        texts: Sequence[StoredText],
        names: Mapping[str, str],
        at_once: int = _CHUNK,
    ) -> dict[int, FoundEntities]:
        """Return what a version finds, under the names that types have now."""
        missing = [text for text in texts if (served.hash, text.id) not in self._kept]
        here: dict[int, FoundEntities] = {
            text.id: self._kept[served.hash, text.id] for text in texts if (served.hash, text.id) in self._kept
        }
        for at in range(0, len(missing), at_once):
            chunk = missing[at : at + at_once]
            try:
                results = await served.batches.submit([text.text for text in chunk])
            except RuntimeError:  # it was replaced, or let go, since it was asked for
                raise ApiError(503, "busy", f"{served.name} was just replaced; ask again", RETRY_HEADERS) from None
            for text, entities in zip(chunk, results, strict=True):
                here[text.id] = self._keep((served.hash, text.id), entities)
        return {text.id: _renamed(here[text.id], names) for text in texts}

    def known(
        self, served: ServedVersion, texts: Sequence[StoredText], names: Mapping[str, str]
    ) -> dict[int, FoundEntities]:
        """Return what a version was found to find before; nothing is computed."""
        kept = {text.id: self._kept.get((served.hash, text.id)) for text in texts}
        return {id_: _renamed(found, names) for id_, found in kept.items() if found is not None}

    def _keep(self, key: tuple[str, int], entities: Entities) -> FoundEntities:
        found = {Span(one["start"], one["end"], one["entity_group"]): float(one["score"]) for one in entities}
        if key not in self._kept:
            self._kept[key] = found
            self._size += 1 + len(found)
        while self._size > MOST_KEPT and self._kept:
            _, oldest = self._kept.popitem(last=False)
            self._size -= 1 + len(oldest)
        return found


def _renamed(found: FoundEntities, names: Mapping[str, str]) -> FoundEntities:
    if not names:
        return found
    return {Span(span.start, span.end, names.get(span.type, span.type)): score for span, score in found.items()}
