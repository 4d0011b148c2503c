"""`retainer learn`."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retainer.cli.columns import Columns, tables_among
from retainer.cli.dry_run import TOO_FEW, TOO_FEW_TO_CHOOSE, dry_run_lines
from retainer.cli.output import balance_table, say, say_json, say_table
from retainer.data.corpus import Corpus
from retainer.data.io import read
from retainer.data.texts import Texts, read_texts
from retainer.errors import InputError, nearest
from retainer.files import in_words, require_free, size_of
from retainer.methods import METHODS, require_learnable_method
from retainer.methods import method as find_method
from retainer.metrics.few import LEAST_ENTITIES_NAMED
from retainer.plurals import entities, sentences
from retainer.runtime import launch
from retainer.training.recipe import RECIPE_FIELDS, Recipe
from retainer.training.recipe import recipe as find_recipe
from retainer.training.reproduce import Reproduction, record_of
from retainer.versions.history import NO_GAIN, describe_prior, describe_task, short_hash
from retainer.versions.lineage import PARENT_FOLDER, Lineage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retainer.methods import Method
    from retainer.training.request import LearnRequest
    from retainer.versions.version import Version


NO_RANKING = (
    "These sentences show only large losses, and do not rank methods: annotated test sentences do (retainer evaluate, "
    "retainer bench own)"
)
"""What the last lines are good for: the share kept of a few entities did not order methods as a test set did."""
POOR = 20.0
"""The F1 below which a version has hardly learned its new types, and the summary says so."""


def learn(
    data: str,
    /,
    *,
    from_: str,
    out: str,
    types: tuple[str, ...] = (),
    method: str = "retain",
    set: dict[str, Any] = {},  # noqa: B006 (never changed)
    dev: str | None = None,
    exemplars: str | None = None,
    text: str | None = None,
    recipe: str = "retainer",
    epochs: int | None = None,
    seed: int = 0,
    device: str = "auto",
    keep_parent: bool = False,
    track: str | None = None,
    dry_run: bool = False,
    anyway: bool = False,
    json: bool = False,
    quiet: bool = False,
    columns: Columns = {},  # noqa: B006 (never changed)
    config: str | None = None,
) -> None:
    """Teach a model new entity types from data in which only they are annotated, and keep what it knew.

    The new version is a plain Hugging Face folder. A run that was killed continues from its last kept epoch when the
    same command is given again; epochs are kept once a minute, and on Ctrl-C or SIGTERM (in
    OUT.partial).

    :param data: annotated file or folder in any format of docs/formats.md; detected from the content
    :param from_: the model to teach: builtin, a folder, or a hub name; a bare encoder learns its first types
    :param out: folder for the new version; must not exist
    :param types: which types of DATA to learn; the others count as O (default: all, but then some must be new). Types
        the model knows may be among them, or be all: every entity of a type named here must be annotated, unless DATA
        say themselves, sentence by sentence, which types are complete (docs/formats.md)
    :param method: how to keep the old types: {methods} (docs/methods.md), or one of
        another package, such as package.module:Class (docs/plugins.md)
    :param set: any field of the method or the recipe, such as --set.look_share 0.5 --set.lr 5e-5
    :param dev: annotated file to choose the epoch on (default: a tenth of DATA is set aside)
    :param exemplars: annotated file with sentences of types the model knows, if you kept some; they join DATA, and
        their O words are not treated as negatives for the new types
    :param text: file or folder with texts like those the model is used on, lines or any format; annotation is ignored.
        Every step shows some, and the new version learns to find there what the old one finds
    :param recipe: retainer (AdamW) or paper (SGD, as published)
    :param epochs: maximum passes over DATA (default: the recipe's, 10); training stops early after 3 without a better
        dev score (--set.patience 0 disables early stopping)
    :param seed: fixes everything that is random
    :param device: auto, cpu or cuda
    :param keep_parent: keep what is needed to restore the previous version (retainer rollback) inside the new one:
        about a third of its size more with the built-in encoder, a larger share with larger ones; without it, rollback
        needs the old folder
    :param track: also write the run down in mlflow, tensorboard or wandb: losses, scores, what was kept, the version
        (docs/track.md)
    :param dry_run: learn and write nothing; report what would be learned, which entities of old types the method would
        treat as gold and how many the old version itself would choose, and how long it would take
    :param anyway: where --config is the record of a version: learn even if data or parent are not those of the record
    :param json: print one JSON document
    :param quiet: print the result, and warnings alone while it learns
    :param columns: {columns}
    :param config: read any of these from a YAML file; or the retainer.json of a version: repeat the run that made it
        (DATA, --dev, --exemplars, --text and --out are given, --from is found if it lies beside; the command line wins)
    """
    reproduces = _reproduction(config, anyway)
    chosen, fields = configure(recipe, method, {**set, **({"epochs": epochs} if epochs is not None else {})})
    _require_several_devices(method, fields, dry_run)
    from retainer.training.learn import learn_version
    from retainer.training.process_group import joined
    from retainer.training.progress import ConsoleProgress, Progress, QuietProgress
    from retainer.training.request import LearnRequest, RunOptions
    from retainer.training.track.tracked_progress import tracked

    train, known, kept, shown = _with_columns(columns, data, dev, exemplars, text)
    request = LearnRequest(train, from_, types or None, fields, chosen, seed, known, kept, device, shown, method)
    if dry_run:
        return _report_preview(request, out, reproduces, json)
    began = time.perf_counter()
    progress = Progress() if launch().rank else QuietProgress() if quiet else ConsoleProgress()
    with (
        joined(device) as (ranks, own_device),
        tracked(track if ranks.leads else None, progress, request, Path(out)) as heard,
    ):
        request = dataclasses.replace(request, device=own_device)
        options = RunOptions(Path(out), keep_parent=keep_parent, progress=heard, reproduces=reproduces, ranks=ranks)
        version = learn_version(request, options)
        if ranks.leads:
            _report_result(version, out, time.perf_counter() - began, json, reproduces)


def _require_several_devices(name: str, method: Method, dry_run: bool) -> None:
    """Refuse several processes where nothing says that they learn what one learns; of one, ask nothing."""
    if (size := launch().size) == 1:
        return
    if dry_run:
        raise InputError("--dry-run needs one process; call it without torchrun")
    if not method.several_devices:
        tested = [other for other, one in METHODS.items() if one.several_devices]
        raise InputError(
            f"method {name} is not tested with {size} processes; use {', '.join(tested[:-1])} or {tested[-1]}, or call "
            "learn without torchrun"
        )


def _with_columns(
    columns: Columns, data: str, dev: str | None, exemplars: str | None, text: str | None
) -> tuple[Corpus | str, Corpus | str | None, Corpus | str | None, Texts | str | None]:
    """Read the tables whose columns are named; what has none is read later, with everything else."""
    tables = tables_among(columns, data, dev, exemplars, text)
    train = read(data, columns=columns) if data in tables else data
    known, kept = (read(path, columns=columns) if path and path in tables else path for path in (dev, exemplars))
    return train, known, kept, read_texts(text, columns) if text and text in tables else text


def _reproduction(config: str | None, anyway: bool) -> Reproduction | None:
    """Return the run to reproduce, if the configuration is a record."""
    if anyway and config is None:
        raise InputError("--anyway is about the record of a version (--config V/retainer.json), and none is given")
    return None if config is None else Reproduction(record_of(config), anyway)


def _report_result(version: Version, out: str, seconds: float, json: bool, reproduces: Reproduction | None) -> None:
    """Report what was learned, what became of every type, and what to try next."""
    same = reproduces and reproduces.record.weights == version.lineage.weights
    if json:
        original = {"replays": {"hash": reproduces.record.own_hash, "same_weights": same}} if reproduces else {}
        say_json({"version": out, "seconds": seconds, **original, **dataclasses.asdict(version.lineage)})
        return
    say(_summary(version, out, seconds))
    if reproduces:
        bits = "the same weights, bit for bit" if same else "other weights"
        say(f"reproduced  version {short_hash(reproduces.record.own_hash)}: {bits}")
    _report_effect(version.lineage.scores, version.lineage.data["dev_given"])
    say(f"\nTry it:   retainer predict {Path(out)} 'some text'")


def _report_effect(scores: Mapping[str, Any], dev_given: bool) -> None:
    """Report what became of every type, what flatters about it, and what it cannot tell."""
    from retainer.training.prevalence import prevalence_in_words

    if measured := scores.get("balance"):
        say_table(balance_table(measured))
        lines = [measured["in_words"], *prevalence_in_words(scores["prevalence"], dev_given)]
        say("\n".join([*lines, NO_RANKING] if measured["old"] else lines))


def _report_preview(request: LearnRequest, out: str, reproduces: Reproduction | None, json: bool) -> None:
    """Report what a run would do."""
    from retainer.training.preview import preview
    from retainer.training.progress import ConsoleProgress

    if reproduces:
        reproduces.require_prior_source(request.given)
    task = request.resolve()
    require_free(out)
    if reproduces:
        reproduces.check(task.facts, task.version.lineage.own_hash, ConsoleProgress())
    seen = preview(task)
    if json:
        return say_json(seen.as_dict())
    say("\n".join(dry_run_lines(seen)))


def configure(recipe: str, method: str, changes: dict[str, Any]) -> tuple[Recipe, Method]:
    """Return the recipe and the method with some of their fields changed; each name belongs to one of the two."""
    require_learnable_method(method)
    of_method = {field.name for field in dataclasses.fields(find_method(method))}
    for name in changes:
        if name not in RECIPE_FIELDS | of_method:
            close = nearest(name, RECIPE_FIELDS | of_method)
            fields_of = f"method {method} has {', '.join(sorted(of_method)) or 'none'}"
            raise InputError(f"neither method {method} nor the recipe has a field {name!r}{close}; {fields_of}")
    changed = {name: value for name, value in changes.items() if name in RECIPE_FIELDS}
    fields = {name: value for name, value in changes.items() if name in of_method}
    return find_recipe(recipe).changed(changed), find_method(method, fields)


def _is_poor(record: Lineage) -> bool:
    """Return whether hardly anything of what was taught is found; of a handful of entities that is not known."""
    rows = [record.scores["per_type"].get(type_) for type_ in (*record.tasks[-1], *record.again)]
    seen = [row for row in rows if row]
    if sum(row["support"] for row in seen) < LEAST_ENTITIES_NAMED:
        return False
    chosen_by = record.scores["dev"]
    return bool((sum(row["f1"] for row in seen) / len(seen) if chosen_by is None else chosen_by) < POOR)


def _dev_score(record: Lineage) -> str:
    """Return the score the epoch was chosen by, or say why none was; what learn set aside itself is no dev file."""
    scores = record.scores
    if scores["dev"] is not None:
        new = "what was taught" if record.again else "the new types"
        measured = {"new": new, "all": "all types", "last": ""}[record.recipe["select"]]
        if record.data["dev_given"]:
            return f"dev F1    {scores['dev']:.2f} on {measured}"
        aside = entities(sum(row["support"] for row in scores["per_type"].values()))
        return f"F1        {scores['dev']:.2f} on {measured}, {aside} set aside"
    if record.recipe["select"] == "last":
        return "dev F1    not used to choose: the last epoch was asked for (--set.select last)"
    why = f"not used to choose: {TOO_FEW_TO_CHOOSE}" if record.data["dev_sentences"] else f"not measured: {TOO_FEW}"
    return f"dev F1    {why}, so the last epoch was kept; give --dev FILE if you can"


def _summary(version: Version, out: str, seconds: float) -> str:
    record = version.lineage
    old = [type_ for task in record.tasks[:-1] for type_ in task if type_ not in record.again]
    nothing = "(nothing else)" if record.again else "(nothing: this is a first version)"
    made, most = len(record.scores["history"]), record.recipe["epochs"]
    stopped = "" if made == most else f" (stopped early; at most {most})"
    lines = [
        f"learned   {describe_task(record).removeprefix('learned ')}",
        f"before    {', '.join(old) or nothing}",
        f"method    {record.method}, epoch {record.scores['epoch']} of {made}{stopped}, {seconds:.0f} s",
    ]
    if "text" in record.data:
        lines.append(f"text      {sentences(record.data['text']['sentences'])} without annotation")
    if prior := describe_prior(record.prior, record.blend):
        lines.append(f"prior     {'as it is: no correction gains more than chance' if prior == NO_GAIN else prior}")
    lines += [_dev_score(record), f"version   {out}"]
    if _is_poor(record):
        lines.append(
            f"poor      hardly anything new is found yet; more epochs than {made}, more data or another method"
        )
    if version.generators:
        lines.append(
            "kept      a language model of these sentences, their words in it (generators/), for later reviews"
        )
    if (parent := Path(out) / PARENT_FOLDER).is_dir():
        lines.append(f"kept      the previous version, for rollback ({PARENT_FOLDER}/): {in_words(size_of(parent))}")
    return "\n".join(lines)
