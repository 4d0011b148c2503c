"""What spaCy finds by the entry point ``spacy_factories``: it imports this module where a pipeline names "retainer"."""

from __future__ import annotations

from typing import Any

from spacy.language import Language

from retainer.versions.spacy_component import RetainerComponent

DEFAULTS: dict[str, Any] = {
    "model": "",
    "device": "auto",
    "overwrite": False,
    "alignment": "expand",
    "calibrated": False,
}
"""The config of the component: docs/spacy-presidio.md says what each means."""


def make_component(
    nlp: Any, name: str, model: str, device: str, overwrite: bool, alignment: str, calibrated: bool
) -> RetainerComponent:
    """Make the component of a pipeline; the arguments are its config."""
    made = RetainerComponent(name, model, device=device, overwrite=overwrite, alignment=alignment)
    made.calibrated = calibrated
    return made


Language.factory(
    "retainer",
    default_config=DEFAULTS,
    assigns=["doc.ents", "doc.spans", "token.ent_iob", "token.ent_type"],
    default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
    func=make_component,
)
