"""The pages of the documentation as something that can be run: their blocks, and what a mark says about them.

A mark is a comment that readers of the page do not see: ``<!-- docs-test: … -->``. It says

- ``given models/v1, bench``: files that must lie there before the first command of the page;
- ``encoder built-in`` or ``encoder tiny``: what ``builtin`` stands for from here on (tiny, if nothing is said);
- ``status 1``: how the one command of the next block ends, if not with 0;
- ``not run: REASON``: the next block is not run, and why; it is printed, and its calls must still be valid ones.
"""

import re
import shlex
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from retainer.cli import arguments
from retainer.cli import main as cli

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
"""All of them: a new page need not be named anywhere."""

RUN = ("sh", "python", "yaml")
"""Languages of blocks that are run; of a workflow in YAML, its steps."""

_FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
_MARK = re.compile(r"<!-- docs-test: (.*?) -->", re.DOTALL)
_CALL = re.compile(r"^(?:(?:- )?run: |.*\| )?retainer [a-z]")
_ENCODERS = ("tiny", "built-in")


@dataclass
class Block:
    """A block that is run, or is marked not to be."""

    line: int
    language: str
    text: str
    encoder: str
    status: int = 0
    reason: str = ""

    @property
    def steps(self):
        """What is run one after the other: lines of a shell, or a Python program as a whole."""
        if self.language == "python":
            return [self.text]
        text = self.text if self.language == "sh" else _workflow(self.text)
        lines = (line.strip() for line in text.replace("\\\n", " ").splitlines())
        return [line for line in lines if line and not line.startswith("#")]

    @property
    def calls(self):
        """The steps that call retainer."""
        return [] if self.language == "python" else [step for step in self.steps if _CALL.match(step)]


@dataclass
class Page:
    """A page: its blocks in order, what must be there before them, and calls in the text between them."""

    path: Path
    text: str
    given: list = field(default_factory=list)
    blocks: list = field(default_factory=list)

    @property
    def name(self):
        """The path inside the checkout."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def counted(self):
        """The lines that call retainer in blocks of any language, counted without knowing what is run."""
        lines = (line.strip() for found in _FENCE.finditer(self.text) for line in found[3].splitlines())
        return sum(bool(_CALL.match(line)) for line in lines)

    @property
    def mentions(self):
        """The calls in running text: `retainer …` between backticks."""
        return re.findall(r"`(retainer [^`\n]+)`", _FENCE.sub("", self.text))


def read_page(path):
    """Read a page; a mark that says nothing known is an error, lest a slip of the pen keep something from being run."""
    page = Page(path, path.read_text("utf-8"))
    encoder, said = _ENCODERS[0], {}
    for found in sorted([*_FENCE.finditer(page.text), *_MARK.finditer(page.text)], key=lambda found: found.start()):
        line = page.text.count("\n", 0, found.start()) + 1
        if found.re is _MARK:
            mark = _understood(found[1], f"{page.name}:{line}")
            page.given += mark.pop("given", [])
            encoder = mark.pop("encoder", encoder)
            said |= mark
            continue
        if _is_run(found[2], found[3]):
            page.blocks.append(Block(line, found[2], textwrap.dedent(found[3]), encoder, **said))
        elif said:
            raise ValueError(f"{page.name}:{line}: a mark stands before a block that is never run")
        said = {}
    if said:
        raise ValueError(f"{page.name}: a mark stands behind the last block")
    return page


def _understood(text, where):
    word, _, rest = " ".join(text.split()).partition(" ")
    if word == "given" and rest:
        return {"given": rest.split(", ")}
    if word == "encoder" and rest in _ENCODERS:
        return {"encoder": rest}
    if word == "status" and rest.isdigit():
        return {"status": int(rest)}
    if word == "not" and rest.startswith("run: "):
        return {"reason": rest.removeprefix("run: ")}
    raise ValueError(f"{where}: {text!r} is not a mark")


def _is_run(language, text):
    return language in RUN and (language != "yaml" or "jobs:" in text)


def _workflow(text):
    """Return the commands of retainer in a workflow; what sets up its machine is not ours to run."""
    steps = (step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"])
    lines = "\n".join(step.get("run", "") for step in steps).splitlines()
    return "\n".join(line for line in lines if _CALL.match(line))


def plain(step):
    """Return the words of a call that needs no shell, or nothing."""
    words = list(shlex.shlex(step, posix=True, punctuation_chars=True))
    if words[0] != "retainer" or "$" in step or any(set(word) <= set("();<>|&") for word in words):
        return None
    return shlex.split(step, comments=True)


def words_of(step):
    """Return the words of the call in a step, wherever in a pipe it stands."""
    call = re.split(r" [<>|] ", step[step.index("retainer ") :])[0]
    return shlex.split(call, comments=True)


def require_valid(step):
    """Refuse a call that retainer would not understand, without running it."""
    verb, *rest = words_of(step)[1:]
    if {"--config", "--print_config"} & set(rest):  # the rest may be in a file that only the page makes; nothing is run
        return require_known(shlex.join(words_of(step)))
    names, command = _command(verb, rest)
    arguments.parse(" ".join(names), command, rest[len(names) - 1 :])


def require_known(mention):
    """Refuse a verb or a flag that does not exist, in a call that may be shortened."""
    verb, *rest = shlex.split(mention)[1:]
    if verb in ("VERB", "--help"):
        return
    names, command = _command(verb, [word for word in rest if not word.startswith("-")][:1])
    known = arguments.build(" ".join(names), command)._option_string_actions
    for word in rest:
        flag = word.split(".")[0].split("=")[0]
        assert not word.startswith("--") or flag in known, f"{mention}: there is no {flag}"


def _command(verb, rest):
    names = cli._words(verb, rest)
    return names, arguments.find_command(verb, names[-1])
