"""Colours and line styles, in one place, so that a type looks the same in chart, table and sentence.

The hues are those of Okabe and Ito, which colour-blind readers can tell apart, made darker (light scheme) or lighter
(dark scheme) until text in them or on them has a contrast of 4.5, and unequally so: where the hues of two colours fall
together for a reader, their lightness differs. The yellow is left out: dark enough to be seen on white it is brown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_HUES = {
    "blue": ("#00548c", "#6aaef0"),
    "vermillion": ("#bd5000", "#e67a35"),
    "green": ("#008561", "#16a37a"),
    "purple": ("#8a3f6b", "#dc8fba"),
    "orange": ("#5c4000", "#f0c04a"),
    "sky": ("#3b7b9f", "#9cdcf7"),
    "grey": ("#3a3f46", "#c9ccd0"),
}
_DASHES = ("", "7 4", "2 4", "9 3 2 3", "14 4", "5 2 1 2 1 2")
_MARKERS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "M-3.6 -3.6h7.2v7.2h-7.2z",
    "M0 -4.8L4.8 3.6H-4.8z",
    "M0 -5L5 0L0 5L-5 0z",
    "M0 4.8L4.8 -3.6H-4.8z",
    "M-1.5 -4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
)
HEAT_STEPS = 10


def hue(index: int) -> int:
    """Return the colour of the type with this index."""
    return index % len(_HUES)


def dash(index: int) -> str:
    """Return the dash pattern of a type's line: a colour that is used again gets another pattern."""
    return _DASHES[index // len(_HUES) % len(_DASHES)]


def marker(index: int) -> str:
    """Return the path of a type's marker around the origin; no colour meets the same marker twice in 42 types."""
    return _MARKERS[(hue(index) + index // len(_HUES)) % len(_MARKERS)]


def heat(f1: float) -> int:
    """Return the step of the heat map for an F1 in percent."""
    return max(0, min(HEAT_STEPS, round(f1 / 100 * HEAT_STEPS)))


def mix(low: str, high: str, share: float) -> str:
    """Blend two colours written as #rrggbb."""
    pairs = zip(bytes.fromhex(low[1:]), bytes.fromhex(high[1:]), strict=True)
    return "#" + bytes(round(a + (b - a) * share) for a, b in pairs).hex()


def _palette(scheme: int, base: Mapping[str, str], strength: float, tint: float) -> dict[str, str]:
    """Complete a scheme: solid colours ``c``, pale ones ``t`` behind words, heat ``h``."""
    palette = dict(base)
    for index, pair in enumerate(_HUES.values()):
        palette[f"c{index}"] = pair[scheme]
        palette[f"t{index}"] = mix(base["card"], pair[scheme], tint)
    for step in range(HEAT_STEPS + 1):
        palette[f"h{step}"] = mix(base["card"], base["accent"], strength * step / HEAT_STEPS)
    return palette


LIGHT = _palette(
    0,
    {
        "page": "#f8f7f4",
        "card": "#ffffff",
        "ink": "#1d232b",
        "muted": "#5a636f",
        "rule": "#dfe1e2",
        "grid": "#e9eaea",
        "accent": "#0072b2",
        "bad": "#bd5000",
        "onsolid": "#ffffff",
    },
    strength=0.42,
    tint=0.13,
)
DARK = _palette(
    1,
    {
        "page": "#12151a",
        "card": "#1a1e25",
        "ink": "#e9ebee",
        "muted": "#a2abb7",
        "rule": "#323842",
        "grid": "#2d333d",
        "accent": "#4b9fde",
        "bad": "#f08a4b",
        "onsolid": "#12151a",
    },
    strength=0.5,
    tint=0.2,
)


def variables(palette: Mapping[str, str]) -> str:
    """Write a palette as CSS custom properties."""
    return " ".join(f"--{name}: {value};" for name, value in palette.items())


def resolve(css: str, palette: Mapping[str, str]) -> str:
    """Put the colours in place of ``var(--name)``: viewers of single SVG files often do not know custom properties."""
    return re.sub(r"var\(--(\w+)\)", lambda match: palette[match[1]], css)


def classes() -> str:
    """Give every hue a class that sets ``--c`` and ``--t``, and every step of the heat map its background."""
    hues = [f".c{i} {{ --c: var(--c{i}); --t: var(--t{i}); }}" for i in range(len(_HUES))]
    steps = [f".heat td.h{i} {{ background: var(--h{i}); }}" for i in range(HEAT_STEPS + 1)]
    return "\n".join(hues + steps)


def hue_strokes() -> str:
    """Give every hue classes for lines and filled marks (for SVG, alone or in the page)."""
    rule = ".line.c{i}, .leader.c{i} {{ stroke: var(--c{i}); }} .dot.c{i}, .name.c{i} {{ fill: var(--c{i}); }}"
    return "\n".join(rule.format(i=i) for i in range(len(_HUES)))
