"""Attack versions on disk: change single bytes, damage whole folders, and report what was noticed.

    python benchmarks/attack_versions.py [--quick] [--folders 2000] [--processes 40] [--first 0] [--seed 0]

First one random byte in every kilobyte of every file of a version with a stored parent is changed. `verify` must notice
each, except in the card; `load` must refuse, or give the very version that was saved. Then folders are damaged at
random and go through the Python API and the verbs, some in processes of their own: an `InputError` or status 2, or what
was saved; nothing else, nothing that takes over ten seconds, and no more than 500 MB of memory. Every second folder is
of a version whose stored parent holds the factors of adapters. Some records are forged: they name a class of a module
that leaves a file behind if anybody imports it, and are sealed again. The exit status is 1 if anything failed.
"""

import argparse
import contextlib
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from retainer.cli.main import main as retainer  # isort: skip (retainer settles the threads before torch starts any)
import torch
from real_process import called_as_process
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.tasks import hide
from retainer.errors import InputError
from retainer.files import sha256
from retainer.model.generator_training import GeneratorRecipe, train_generator
from retainer.model.tagger import quiet
from retainer.training.learn import learn
from retainer.training.recipe import Recipe
from retainer.versions.lineage import CARD_FILE, RECORD_FILE, Lineage, record_bytes, record_hash
from retainer.versions.rollback import roll_back, rollback_target, versions_beside
from retainer.versions.verify import verify_folder
from retainer.versions.version import Version, load

SECONDS = 10
MEGABYTES = 500
TEXT = "play songs by miles davis in boston and then in paris"
KINDS = {"full": 0, "adapters": 2}
"""The versions that are damaged, and the rank of the adapters the second one was taught with."""
PLANTED = "planted:Ran"
"""The class that a forged record names as its method."""
_MODULE = 'open(__file__ + ".ran", "w").close()\n\n\nclass Ran:\n    pass\n'


class TooSlow(BaseException):
    """Raised where something takes too long; not an Exception, so that nobody takes it for a wrong input."""


@dataclass
class Tally:
    """What happened in one row of the table, and what must not have."""

    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    memory: float = 0.0
    failures: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def case(self, what: str) -> Iterator[None]:
        """Time a case, end it if it takes too long, and count an InputError as a refusal."""
        signal.alarm(SECONDS)
        began, before = time.perf_counter(), peak()
        try:
            yield
        except InputError:
            self.outcomes["refused"] += 1
        except TooSlow:
            self.failures.append(f"{what}: took over {SECONDS} s")
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            self.failures.append(f"{what}: {type(error).__name__}: {error}"[:300])
        finally:
            signal.alarm(0)
            self.slowest = max(self.slowest, time.perf_counter() - began)
            self.memory = max(self.memory, peak() - before)
            if peak() - before > MEGABYTES:
                self.failures.append(f"{what}: took {peak() - before:.0f} MB")


# ------------------------------------------------------------------------------------------------- the versions


def make_versions(folder: Path, rank: int = 0) -> None:
    """Teach a tiny random encoder twice; both versions have a language model, and the second stores the first.

    With adapters, the stored parent must hold factors: else this would attack nothing new.
    """
    torch.manual_seed(0)
    data = generate(60, seed=1, types=["artist", "city"])
    words = sorted({letter for sentence in data for word in sentence.words for letter in word.lower()})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    pieces = {piece: at for at, piece in enumerate([*special, *words, *(f"##{word}" for word in words)])}
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(name, pieces[name]) for name in ("[CLS]", "[SEP]")]
    )
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    with quiet():
        BertModel(BertConfig(vocab_size=len(pieces), max_position_embeddings=64, **size)).save_pretrained(folder / "e")
        PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, model_max_length=64, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]"
        ).save_pretrained(folder / "e")
    recipe = Recipe(epochs=2, batch=8, base_lr=5e-3, lr=5e-3)
    small = GeneratorRecipe(epochs=1, width=8)
    for start, name, type_ in (("e", "v1", "artist"), ("v1", "v2", "city")):
        how = replace(recipe, adapter_rank=rank if name == "v2" else 0)
        version = learn(hide(data, [type_]), folder / start, recipe=how, device="cpu")
        version.generators = (train_generator(data.sentences, [type_], seed=1, recipe=small),)
        version.save(folder / name, keep_parent=folder / "v1" if name == "v2" else None)
    shutil.rmtree(folder / "e")
    if rank and b"left:" not in (folder / "v2" / "parent" / "model.safetensors.delta").read_bytes():
        raise AssertionError("the stored parent holds no factors")


def answers(version: Version) -> list[Any]:
    """Return what a version finds, as exactly as it computes it."""
    return [(e["entity_group"], e["start"], e["end"], e["score"]) for e in version.predict(TEXT)]


class Healthy:
    """The versions as they were saved, to compare with what still loads."""

    def __init__(self, folder: Path) -> None:
        self.known = {one.lineage.own_hash: one for one in (load(folder / name, device="cpu") for name in ("v1", "v2"))}
        self.answers = {hash_: answers(one) for hash_, one in self.known.items()}

    def check(self, version: Version) -> str:
        """Say whether a version is one of them; one without hashes, or without a record, claims nothing."""
        if version.lineage.method == PLANTED:
            return "loaded with a forged record"
        if not version.lineage.files:
            return "loaded without a record" if not version.lineage.created else "loaded without hashes"
        saved = self.known.get(version.lineage.own_hash)
        if (
            saved is None
            or saved.lineage != version.lineage
            or answers(version) != self.answers[saved.lineage.own_hash]
        ):
            raise AssertionError("another version was loaded under this name")
        return "loaded as it was saved"


# ------------------------------------------------------------------------------------------------- single bytes


def attack_bytes(folder: Path, healthy: Healthy, draw: random.Random, below: str = "") -> dict[str, Tally]:
    """Change one byte in every kilobyte of every file, and return what verify and load noticed, by file."""
    rows: dict[str, Tally] = {}
    version = folder / "v2"
    for file in sorted(path for path in (version / below).rglob("*") if path.is_file()):
        name = file.relative_to(version).as_posix()
        tally, whole = rows.setdefault(name, Tally()), file.read_bytes()
        for start in range(0, len(whole), 1024):
            at = draw.randrange(start, min(start + 1024, len(whole)))
            other = draw.choice([byte for byte in range(256) if byte != whole[at]])
            file.write_bytes(whole[:at] + bytes([other]) + whole[at + 1 :])
            tally.outcomes["changes"] += 1
            with tally.case(f"load, byte {at} is {other}"):
                healthy.check(load(version, device="cpu"))
            with tally.case(f"verify, byte {at} is {other}"):
                noticed = bool(verify_folder(version).sentences)
                tally.outcomes["noticed"] += noticed
                if not noticed and name != CARD_FILE:
                    tally.failures.append(f"verify did not notice that byte {at} is {other}")
        file.write_bytes(whole)
    return rows


# ------------------------------------------------------------------------------------------------- whole folders


def truncate(file: Path, draw: random.Random) -> None:
    """Cut a file somewhere."""
    file.write_bytes(file.read_bytes()[: draw.randrange(file.stat().st_size + 1)])


def scramble(file: Path, draw: random.Random) -> None:
    """Write noise over a part of a file."""
    data = bytearray(file.read_bytes())
    at = draw.randrange(len(data) + 1)
    data[at : at + 64] = draw.randbytes(64)
    file.write_bytes(data)


def delete(file: Path, draw: random.Random) -> None:
    """Lose a file."""
    file.unlink()


def swap(file: Path, draw: random.Random) -> None:
    """Let two files change places."""
    other = draw.choice(_files(_root(file)))
    data = file.read_bytes()
    file.write_bytes(other.read_bytes())
    other.write_bytes(data)


def link(file: Path, draw: random.Random) -> None:
    """Put a link in the place of a file: to what is no file of this version, to nothing, or to itself."""
    target = draw.choice(
        ["/etc/hostname", "/dev/zero", "/dev/stdin", "/nowhere", file.name, "..", f"../v1/{file.name}"]
    )
    file.unlink()
    file.symlink_to(target)


def link_folder(file: Path, draw: random.Random) -> None:
    """Put a link in the place of the folder a file lies in, or beside the file."""
    inner = file.parent.name in ("parent", "generators", "1", "2")
    place = file.parent if inner else file.parent / draw.choice(["parent2", "generators2", "more.json"])
    if inner:
        shutil.rmtree(place)
    if not os.path.lexists(place):
        place.symlink_to(draw.choice(["/etc", "/proc/self", "..", "."]))


def fifo(file: Path, draw: random.Random) -> None:
    """Put a pipe in the place of a file: whoever opens it waits for ever."""
    file.unlink()
    os.mkfifo(file)


def folder_instead(file: Path, draw: random.Random) -> None:
    """Put a folder in the place of a file."""
    file.unlink()
    file.mkdir()


def nest(file: Path, draw: random.Random) -> None:
    """Nest JSON deeper than anybody reads it: alone, or as the value of a field."""
    depth = draw.choice([70, 900, 100_000])
    nested = draw.choice(["[", '{"a":']) * depth
    text = nested + ("]" if nested[0] == "[" else "1" + "}") * (depth if nested[0] == "[" else 1)
    fields = _object(file)
    if fields and draw.random() < 0.7:
        name = draw.choice(list(fields))
        shallow = json.dumps({**fields, name: "HERE"})
        text = shallow.replace('"HERE"', "[" * depth + "]" * depth)
    file.write_text(text)


def huge_number(file: Path, draw: random.Random) -> None:
    """Put a number into JSON that nobody can use."""
    number = draw.choice(["9" * 400, "9" * 5000, "1e999", "-1", "NaN", str(2**63), "1000000000", "0.5e-400"])
    _set(file, draw, number)


def other_value(file: Path, draw: random.Random) -> None:
    """Put another kind of value into JSON, or a name that no file can have."""
    _set(file, draw, draw.choice(["null", "[]", "{}", '""', "true", '"\\ud800"', '"\\u0000"', '"../../x"', "[[1]]"]))


def drop_field(file: Path, draw: random.Random) -> None:
    """Take a field out of JSON."""
    if fields := _object(file):
        fields.pop(draw.choice(list(fields)))
        file.write_text(json.dumps(fields, indent=2))


def grow(file: Path, draw: random.Random) -> None:
    """Make a record as large as a disk."""
    record = draw.choice([RECORD_FILE, "parent/kept.json"])
    root = _root(file)
    if (root / record).is_file() and not (root / record).is_symlink():
        os.truncate(root / record, 2**31)


def add(file: Path, draw: random.Random) -> None:
    """Put a file beside that a model might be loaded from."""
    names = ["added_tokens.json", "adapter_config.json", "model.onnx", "pytorch_model.bin", "x.txt", "model.py"]
    beside = file.parent / draw.choice(names)
    if not os.path.lexists(beside):
        beside.write_bytes(file.read_bytes()[: draw.randrange(4096)])


def plant(file: Path, draw: random.Random) -> None:
    """Let a record or a config name a class of a stranger, and seal the record again: only its maker could tell."""
    root = _root(file)
    fields = _small_object(root / RECORD_FILE)
    if not isinstance(fields.get("files"), dict) or "method" not in fields:
        return
    fields["method"] = PLANTED
    config = _small_object(root / "config.json")
    if config and draw.random() < 0.5:
        config["auto_map"] = {name: "planted.Ran" for name in ("AutoConfig", "AutoModel", "AutoTokenizer")}
        (root / "config.json").write_text(json.dumps(config))
        (root / "planted.py").write_text(_MODULE)
        fields["files"] |= {name: sha256(root / name) for name in ("config.json", "planted.py")}
    fields["hash"] = record_hash(fields)
    (root / RECORD_FILE).write_bytes(record_bytes(fields))


@contextlib.contextmanager
def trap(folder: Path) -> Iterator[Path]:
    """Let the planted module be found by this process and those it starts, and give the file it leaves behind."""
    (folder / "planted.py").write_text(_MODULE)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), before]))
    sys.path.insert(0, str(folder))
    try:
        yield folder / "planted.py.ran"
    finally:
        sys.path.remove(str(folder))
        os.environ.pop("PYTHONPATH")
        os.environ |= {"PYTHONPATH": before} if before else {}


def sprung(place: Path) -> bool:
    """Say whether the planted module has run, here or in a damaged version, and set the trap again."""
    left = [file for file in (place / "planted.py.ran", *place.glob("*/*/planted.py.ran")) if file.exists()]
    for file in left:
        file.unlink()
    return bool(left) | (sys.modules.pop(PLANTED.partition(":")[0], None) is not None)


DAMAGES: tuple[Callable[[Path, random.Random], None], ...] = (
    truncate,
    scramble,
    delete,
    swap,
    link,
    link_folder,
    fifo,
    folder_instead,
    nest,
    huge_number,
    other_value,
    drop_field,
    grow,
    add,
    plant,
)


def _root(file: Path) -> Path:
    """Return the folder of the version that a file lies in."""
    return next(parent for parent in file.parents if parent.name in ("v2", "version"))


def _files(folder: Path) -> list[Path]:
    """Name the plain files of a folder, without one that was made as large as a disk."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(path for path in files if path.stat().st_size < 2**20)


def _object(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text())
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _small_object(file: Path) -> dict[str, Any]:
    """Read JSON where it is still a file of the folder, and not as large as a disk."""
    return _object(file) if file in _files(file.parent) else {}


def _set(file: Path, draw: random.Random, text: str) -> None:
    """Put a text in the place of some value of a JSON file, however deep."""
    fields = inner = _object(file)
    while inner:
        name = draw.choice(list(inner))
        if not isinstance(inner[name], dict) or not inner[name] or draw.random() < 0.3:
            inner[name] = "HERE"
            file.write_text(json.dumps(fields, indent=2).replace('"HERE"', text))
            return
        inner = inner[name]


def damage(folder: Path, draw: random.Random) -> str:
    """Damage a version once to three times, and say how; JSON more often than its share of files."""
    done = []
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        files = _files(folder)
        chosen = [file for file in files if file.suffix == ".json"] if draw.random() < 0.6 else files
        if chosen:
            how, file = draw.choice(DAMAGES), draw.choice(chosen)
            how(file, draw)
            done.append(f"{how.__name__} {file.relative_to(folder)}")
    return ", ".join(done)


def attack_folders(folder: Path, healthy: Healthy, numbers: range, seed: int) -> dict[str, Tally]:
    """Damage many folders, and return what every way to read one made of it."""
    rows: dict[str, Tally] = {}
    for number in numbers:
        draw = random.Random(f"{seed} {number}")
        place = folder / "damaged"
        for name in ("v1", "v2") if draw.random() < 0.3 else ("v2",):
            shutil.copytree(folder / name, place / name)
        how = f"folder {number} ({damage(place / 'v2', draw)})"
        for row, call in _calls(place, healthy).items():
            tally = rows.setdefault(row, Tally())
            with tally.case(how):
                tally.outcomes[call()] += 1
            if sprung(folder):
                tally.failures.append(f"{how}: a module was imported because a record names it")
        shutil.rmtree(place)
    return rows


def attack_alone(folder: Path, numbers: range, seed: int) -> dict[str, Tally]:
    """Damage some folders, and give each to a verb in a process of its own."""
    usual = {verb: called_as_process(words) for verb, words in _verbs(folder).items()}
    shutil.rmtree(folder / "out", ignore_errors=True)
    rows: dict[str, Tally] = {}
    for number in numbers:
        draw, place = random.Random(f"{seed} alone {number}"), folder / "damaged"
        shutil.copytree(folder / "v2", place / "v2")
        how = f"folder {number} ({damage(place / 'v2', draw)})"
        verb, words = draw.choice(sorted(_verbs(place).items()))
        ended, tally = called_as_process(words), rows.setdefault(f"retainer {verb} in a process", Tally())
        tally.slowest = max(tally.slowest, ended.seconds - usual[verb].seconds)
        tally.memory = max(tally.memory, ended.megabytes - usual[verb].megabytes)
        try:
            tally.outcomes[_judged(verb, ended.status, ended.err)] += 1
        except InputError:
            tally.outcomes["refused"] += 1
        except AssertionError as error:
            tally.failures.append(f"{how}: {error}")
        if sprung(folder):
            tally.failures.append(f"{how}: a module was imported because a record names it")
        shutil.rmtree(place)
    for tally in rows.values():
        if tally.slowest > SECONDS or tally.memory > MEGABYTES:
            tally.failures.append(f"{tally.slowest:.1f} s and {tally.memory:.0f} MB more than for a healthy version")
    return rows


def _verbs(place: Path) -> dict[str, list[str]]:
    """Return the calls of the verbs that read a version."""
    version = str(place / "v2")
    return {
        "log": ["log", version],
        "verify": ["verify", version],
        "types": ["types", version],
        "predict": ["predict", version, TEXT],
        "rollback": ["rollback", version, "--out", str(place / "out")],
    }


def _calls(place: Path, healthy: Healthy) -> dict[str, Callable[[], str]]:
    version = place / "v2"
    return {
        "load()": lambda: healthy.check(load(version, device="cpu")),
        "verify_folder()": lambda: "whole" if verify_folder(version).as_dict()["ok"] else "named what is wrong",
        "versions_beside()": lambda: "listed" if versions_beside(version) is not None else "",
        "roll_back()": lambda: _rolled_back(version, place / "back"),
        **{f"retainer {verb}": lambda words=words: _status(words) for verb, words in _verbs(place).items()},
        **({"retainer learn --config": lambda: _repeated(place)} if _is_forged(version) else {}),
    }


def _is_forged(version: Path) -> bool:
    return _small_object(version / RECORD_FILE).get("method") == PLANTED


def _repeated(place: Path) -> str:
    """Repeat what a forged record says, which must be refused."""
    data = place / "data.conll"
    write(generate(4, seed=1), data, "conll")
    raise AssertionError(_status(["learn", str(data), "--config", str(place / "v2" / RECORD_FILE), "--out", "no"]))


def _rolled_back(version: Path, out: Path) -> str:
    """Go back, and make sure that what was written is the parent."""
    roll_back(version, rollback_target(version, None, None), out)
    if verify_folder(out).sentences or Lineage.read(out).tasks != (("artist",),):
        raise AssertionError("another version was written")
    return "written as it was saved"


def _status(words: list[str]) -> str:
    """Run a verb in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = retainer(words)
    return _judged(words[0], status, err.buffer.getvalue().decode())  # type: ignore[attr-defined]


def _judged(verb: str, status: int, said: str) -> str:
    """Say how a verb ended; a refusal is one sentence and status 2, and only verify may say no (1)."""
    if status == 2 and len(said.splitlines()) == 1:
        raise InputError(said)
    if status == 0 or (status == 1 and verb == "verify"):
        return f"status {status}"
    raise AssertionError(f"status {status}: {said.strip()}")


# ------------------------------------------------------------------------------------------------- the report


def table(rows: dict[str, Tally]) -> str:
    """Lay out what happened, a line for each file or way to read a folder."""
    lines = [f"{'what was attacked':48} {'slowest':>8} {'memory':>8} {'failed':>6}  outcomes"]
    for name, tally in rows.items():
        outcomes = ", ".join(f"{count} {what}" for what, count in sorted(tally.outcomes.items()))
        lines.append(f"{name:48} {tally.slowest:6.2f} s {tally.memory:5.0f} MB {len(tally.failures):6}  {outcomes}")
    return "\n".join(lines)


def peak() -> float:
    """Return the most memory this process ever had, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _too_slow(*_: Any) -> None:
    raise TooSlow


def main() -> int:
    """Attack, print one table, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="60 folders, and 2 in real processes")
    parser.add_argument("--folders", type=int)
    parser.add_argument("--processes", type=int, default=40, help="folders that real processes read")
    parser.add_argument("--first", type=int, default=0, help="the first folder, to repeat a failure")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    count = options.folders or (60 if options.quick else 2000)
    signal.signal(signal.SIGALRM, _too_slow)
    with tempfile.TemporaryDirectory() as place:
        rows: dict[str, Tally] = {}
        folders = {kind: Path(place).resolve() / kind for kind in KINDS}
        with contextlib.redirect_stderr(io.StringIO()):
            for kind, rank in KINDS.items():
                folders[kind].mkdir()
                make_versions(folders[kind], rank)
        healthy = {kind: Healthy(folder) for kind, folder in folders.items()}
        before, began = peak(), time.perf_counter()
        for at, (kind, folder) in enumerate(folders.items()):
            numbers = range(options.first + at, options.first + count, len(KINDS))
            with trap(folder):
                found = attack_bytes(folder, healthy[kind], random.Random(options.seed), "parent" if at else "")
                found |= attack_folders(folder, healthy[kind], numbers, options.seed)
                found |= attack_alone(folder, range(at, 2 if options.quick else options.processes, 2), options.seed)
            rows |= {f"{what}, {kind}" if at else what: tally for what, tally in found.items()}
    more = peak() - before
    print(table(rows))
    print(f"{count} damaged folders, {time.perf_counter() - began:.0f} s, {more:.0f} MB more memory than before")
    failures = [f"{name}: {one}" for name, tally in rows.items() for one in tally.failures]
    if more > MEGABYTES:
        failures.append(f"memory grew by {more:.0f} MB, more than {MEGABYTES}")
    if failures:
        print("\n".join([f"{len(failures)} failures:", *failures[:40]]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
