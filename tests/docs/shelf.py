"""Files that pages take for granted: versions, measured cells, and stand-ins for corpora nobody may hand on."""

import shutil
from dataclasses import replace
from itertools import cycle

from pages import ROOT

from retainer.corpora import write
from retainer.corpora.generated import generate
from retainer.preset import preset
from retainer.spans import Span


class Shelf:
    """Puts a file or folder where a page expects it."""

    def __init__(self, readme):
        self._readme = readme

    def put(self, name, target):
        """Copy or make what a page calls by this name."""
        target.parent.mkdir(parents=True, exist_ok=True)
        if name in ("models/v1", "models/v2"):
            shutil.copytree(self._readme().folder / name, target)
        elif name == "bench":
            shutil.copytree(ROOT / "results" / "bench", target)
        else:
            CORPORA[name](target)


def _renamed(size, seed, name):
    """Write requests whose types bear the names of a preset."""
    types = cycle(preset(name).types)
    sentences = generate(size, seed=seed).sentences
    return [replace(s, spans=tuple(Span(x.start, x.end, next(types)) for x in s.spans)) for s in sentences]


def _notes(target):
    for part in ("train", "test"):
        for number in range(3):
            note = target / part / "set" / f"{number}-01.xml"
            note.parent.mkdir(parents=True, exist_ok=True)
            write(_renamed(20, number, "i2b2"), note, "i2b2")


def _columns(target):
    for part in ("train", "development", "test"):
        document = target / part / "nw" / "00" / "nw_0001.v4_gold_conll"
        document.parent.mkdir(parents=True)
        write(_renamed(40, 1, "ontonotes5"), document, "conll2012")


CORPORA = {"I2B2": _notes, "ONTONOTES": _columns}
"""Stand-ins: generated sentences in the format, the folders and the types of the corpus."""
