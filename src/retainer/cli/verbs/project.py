"""`retainer project`, and `retainer project export`, `import` and `remove`."""

from __future__ import annotations

from typing import Any

from retainer.cli.columns import Columns
from retainer.cli.output import note, say, say_json
from retainer.cli.verbs.convert import SUFFIXES, format_for
from retainer.data.formats.table import FORMATS
from retainer.files import require_free
from retainer.plurals import amount, entities
from retainer.workbench.exchange import export_data, import_data, read_data
from retainer.workbench.project import Project
from retainer.workbench.text_removal import remove_texts


def project(folder: str, /, *, json: bool = False) -> None:
    """Say what a project of the workbench holds: texts, types, versions and jobs; or move data in and out.

    retainer project export FOLDER --out FILE;
    retainer project import FOLDER DATA;
    retainer project remove FOLDER NUMBER...
    Each of these explains itself (retainer project export --help); docs/workbench.md has examples.

    :param folder: the folder of a project
    :param json: print one JSON document
    """
    with Project.open(folder) as opened:
        facts = _facts(opened)
    if json:
        return say_json({"project": folder, **facts})
    texts, in_use = facts["texts"], facts["in_use"]
    lines = [
        f"texts     {texts['all']}: {texts['decided']} with a decision, {texts['held_back']} held back",
        *(
            f"type      {name}: {entities(one['entities'])}, complete in {one['complete']}"
            for name, one in facts["types"].items()
        ),
        *(f"version   {name}{', in use' if name == in_use else ''}" for name in facts["versions"]),
        *(f"job       {one['id']}: {one['kind']}, {one['state']}" for one in facts["jobs"]),
    ]
    say("\n".join(lines))


def _facts(opened: Project) -> dict[str, Any]:
    with opened.database.reading():
        texts, counts, in_use = opened.texts, opened.annotations.counts(), opened.versions.in_use()
        return {
            "texts": {
                "all": texts.count(),
                "decided": texts.count(decided=True),
                "held_back": sum(text.held_back for text in texts.all()),
            },
            "types": {name: {"entities": one.entities, "complete": one.complete} for name, one in counts.items()},
            "versions": [version.name for version in opened.versions.all()],
            "in_use": in_use and in_use.name,
            "jobs": [{"id": job.id, "kind": job.kind, "state": job.state} for job in opened.jobs.all()],
        }


def export(folder: str, /, *, out: str, to: str | None = None) -> None:
    """Write the texts of a project and what was decided about them, also while a server has it open.

    Formats that can say which types are complete (prodigy, doccano, jsonl, csv, tsv, parquet, datasets) get all
    texts, others only those with a decision.

    :param folder: the folder of a project
    :param out: file to write, or for brat and datasets a folder; must not exist
    :param to: format of OUT: prodigy, doccano, jsonl (tokens and ner_tags), conll, labelstudio, brat, csv, tsv,
        parquet, datasets, conll2012, enamex, i2b2 or spacy (default: detected from its suffix; .jsonl is prodigy,
        which holds texts, words and what is complete)
    """
    target = format_for(out, to, {**SUFFIXES, ".jsonl": "prodigy"})
    require_free(out)
    with Project.open(folder) as opened:
        done = export_data(opened, out, target)
    holding = ", ".join(name for name, one in FORMATS.items() if one.holds_complete)
    notes = {
        f"without a decision left out: in {target} they would look like texts without an entity": done.left_out,
        f"not complete for every type, which {target} cannot say; {holding} can": done.partly_annotated,
        "with marks but without a decision, exported without the marks": done.drafts,
    }
    for what, count in notes.items():
        if count:
            note(f"note: {amount(count, 'text')} {what}")
    say(f"{amount(done.texts, 'text')}, {entities(done.entities)} -> {target}")


def import_(
    folder: str,
    data: str,
    /,
    *,
    from_: str | None = None,
    columns: Columns = {},  # noqa: B006 (never changed)
) -> None:
    """Put texts into a project, with their annotation if they have any, also while a server has it open.

    A text that is there already is not added twice, and a decision that is there stays. Data that do not say which
    types are complete are complete for the types that occur in them.

    :param folder: the folder of a project; a new one is made if there is none
    :param data: annotated file or folder in any format of docs/formats.md, or texts, one per line; - for stdin
    :param from_: format of DATA: conll, jsonl, prodigy, doccano, labelstudio, brat, csv, tsv, parquet,
        datasets, conll2012, enamex or i2b2 (default: detected from the content)
    :param columns: {columns}
    """
    found = read_data(data, from_, columns)
    with Project.open(folder, create=True) as opened:
        done = import_data(opened, found)
    for what, count in found.oddities.items():
        note(f"note: {count} {what}")
    if done.kept:
        note(f"note: {amount(done.kept, 'text')} annotated otherwise in the project, and kept so")
    if done.new_types:
        note(f"note: new in the project: {', '.join(done.new_types)}")
    say(f"{amount(done.texts, 'text')}, {done.new} new, {done.annotated} with annotation")


def remove(folder: str, /, *numbers: int, who: str = "command line") -> None:
    """Remove texts from a project for good, with all that was said about them, also while a server has it open.

    Nothing brings them back, and no file of the project has their bytes afterwards. A version that learned from one of
    them cannot unlearn it, and is named.

    :param folder: the folder of a project
    :param numbers: the numbers of the texts, as the page shows them
    :param who: your name, which is kept with the numbers
    """
    with Project.open(folder) as opened:
        done = remove_texts(opened, numbers, who)
    if done.versions:
        note(f"note: these versions learned from them and cannot unlearn it: {', '.join(done.versions)}")
    say(f"{amount(len(done.ids), 'text')} removed")
