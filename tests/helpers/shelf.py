"""Files that pages take for granted: versions, measured cells, and stand-ins for corpora nobody may hand on."""

import json
import shutil
from dataclasses import replace
from itertools import cycle

from pages import ROOT

from retainer.bench.preset import preset
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.spans import Span


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
            _measured(target / "conll2003")
        else:
            CORPORA[name](target)


def _measured(target):
    """Some of the cells that are kept; a test of every method would take minutes. A corpus and its entities are not."""
    kept = ROOT / "results" / "bench" / "conll2003"
    for method in ("joint", "rdp", "extend_ner", "finetune"):
        shutil.copytree(kept / "FG-1-PG-1" / method, target / "FG-1-PG-1" / method)


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


def _samples(target):
    """A sample in the manner of presidio-evaluator."""
    span = {"entity_type": "artist", "entity_value": "boston", "start_position": 14, "end_position": 20}
    target.write_text(json.dumps([{"full_text": "play songs by boston", "masked": None, "spans": [span]}]))


CORPORA = {"I2B2": _notes, "ONTONOTES": _columns, "samples.json": _samples}
"""Stand-ins: generated sentences in the format, the folders and the types of the corpus."""
