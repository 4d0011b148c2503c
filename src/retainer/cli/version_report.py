"""`retainer report` of a version: it and the versions before it, on the same data."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from retainer.cli.columns import Columns
from retainer.cli.output import note, say
from retainer.cli.verbs.evaluate import assessed, page_of, tell_unscored, unscored
from retainer.data.corpus import Corpus
from retainer.data.io import read
from retainer.errors import InputError
from retainer.files import require_writable, write_document
from retainer.versions.history import short_hash, versions_of
from retainer.versions.rollback import require_record, versions_beside

if TYPE_CHECKING:
    from retainer.report.evaluation.reliability_numbers import AssessedVersion


def chain_page(folder: Path, data: str | None, out: str | None, columns: Columns) -> None:
    """Write the page of a version and of those before it that lie beside it."""
    if data is None:
        raise InputError(f"{folder} is a version; the page of one needs annotated sentences (--data FILE)")
    target = require_writable(folder.resolve().with_name(folder.resolve().name + ".html") if out is None else out)
    corpus = read(data, columns=columns)
    bare: dict[str, None] = {}
    found = [one for place in _places(folder) if (one := _assessed(place, corpus, bare, newest=place == folder))]
    tell_unscored(bare)
    called = shlex.join(["retainer", "report", str(folder), "--data", data])
    write_document(target, page_of(found, data, corpus, called))
    say(str(target))


def _places(folder: Path) -> list[Path]:
    """Return where the versions of a chain lie, oldest first; those that are elsewhere are left out, with a note."""
    chain = versions_of(require_record(folder))
    known = versions_beside(folder)
    gone = [one for one in chain[:-1] if one.own_hash not in known]
    if gone:
        note(f"not beside {folder}, so left out: {', '.join(short_hash(one.own_hash) for one in gone)}")
    return [*(known[one.own_hash] for one in chain[:-1] if one.own_hash in known), folder]


def _assessed(place: Path, corpus: Corpus, bare: dict[str, None], *, newest: bool) -> AssessedVersion | None:
    """Measure a version; one that knows no type of the data is left out, unless the page is about it.

    Types that are not scored are added to ``bare``, so that they are named once for all versions.
    """
    from retainer.versions.version import load

    version = load(place, need_head=True)
    if not newest and not set(version.types) & set(corpus.types):
        note(f"{place} knows no type of {corpus.source}, so it is left out")
        return None
    scores, reliability = version.assess(corpus)
    bare.update(dict.fromkeys(unscored(version, corpus)))
    return assessed(version, str(place), scores.only(corpus.types), reliability)
