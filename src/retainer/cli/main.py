"""The command line: a table of verbs. Each is a function in `retainer.cli.verbs`, imported when it is called."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence

from retainer.about import __version__
from retainer.cli.arguments import call, find_command, parse
from retainer.cli.streams import guarded_stderr, guarded_stdout
from retainer.errors import InputError, LostProcess, SaidElsewhere, disk_refusal, nearest, printable, shortened, unknown
from retainer.runtime import launch

VERBS = {
    "demo": "see forgetting happen, and not happen, in a few minutes",
    "learn": "teach a model new types from data in which only they are annotated",
    "predict": "find the entities of texts",
    "evaluate": "score a model on annotated data",
    "compare": "report what a new version kept, gained and lost; a gate for CI",
    "serve": "answer requests over HTTP with one version or several",
    "bench": "measure methods side by side over the tasks of a benchmark",
    "report": "report which method of a bench is best and whether that is real, or how reliable a version's scores are",
    "log": "print the history of a version: what it learned when, how, from what, and how well",
    "verify": "check that a version is still what was saved, file by file",
    "rollback": "restore the previous version, bit for bit",
    "types": "list the types of a model, or rename, merge, drop or split them",
    "project": "say what a project of the workbench holds, export it, import data into it, or remove texts",
    "check": "report what is odd in data before training on it",
    "convert": "turn one format into another",
    "export": "write a model as ONNX, or what it finds as suggestions to correct",
    "push": "publish a version on the Hugging Face hub; no other verb uploads to it",
    "split": "cut a corpus into the tasks of the benchmark protocol",
    "completion": "print a script with which bash, zsh or fish completes verbs and flags",
}

PARTS = {"types": ("rename", "merge", "drop", "split"), "project": ("export", "import", "remove")}
"""Verbs with a second word: `types rename` is the function `rename` beside `types`."""

DONE, WRONG_INPUT, OUR_FAULT, INTERRUPTED = 0, 2, 3, 130

ON_SEVERAL_DEVICES = "learn"
"""The verb that several processes may call together; of any other each would do the whole."""
LINGER = 10.0
"""Seconds that all processes but the first stay after a wrong call: torchrun ends the first once another has ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit status; never more than one sentence about what the user did wrong."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    with guarded_stderr():
        try:
            with guarded_stdout():
                return _run(arguments)
        except InputError as error:  # about stdout itself
            return _complain(str(error), WRONG_INPUT)


def _run(arguments: Sequence[str]) -> int:
    verb = arguments[0] if arguments else "--help"
    if verb in ("-h", "--help", "help"):
        return _say(_help())
    if verb == "--version":
        return _say(f"retainer {__version__}")
    if verb not in VERBS:
        return _complain(str(unknown("verb", verb, VERBS)), WRONG_INPUT)
    if launch().size > 1 and verb != ON_SEVERAL_DEVICES:
        return _complain(f"`{verb}` runs in one process; call it without torchrun, which is for `learn`", WRONG_INPUT)
    with _sigterm_as_ctrl_c():
        return _guarded(verb, arguments[1:])


@contextlib.contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """Keep what is under way also where a scheduler or a container ends the program: they send SIGTERM.

    Under torchrun it is torchrun that ends the processes, after one of them has said why.
    """
    if launch().size > 1 or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _interrupt(number: int, frame: object) -> None:
    """Interrupt this process and its children: Ctrl-C in a terminal reaches those of a bench too, SIGTERM does not."""
    import multiprocessing

    for child in multiprocessing.active_children():
        if child.pid:
            os.kill(child.pid, signal.SIGINT)
    raise KeyboardInterrupt


def _guarded(verb: str, arguments: Sequence[str]) -> int:
    """Call a verb and turn whatever it raises into a sentence and a status."""
    try:
        words = _words(verb, arguments)
        command = find_command(verb, words[-1])
        return call(command, parse(" ".join(words), command, arguments[len(words) - 1 :])) or DONE
    except InputError as error:
        return _complain(str(error), WRONG_INPUT)
    except SaidElsewhere as error:
        return error.status
    except LostProcess as error:
        return _complain(str(error), OUR_FAULT)
    except KeyboardInterrupt:
        return _complain("interrupted; run the same command again to continue from what was kept", INTERRUPTED)
    except Exception as error:
        if os.environ.get("RETAINER_DEBUG"):
            traceback.print_exc()
        if reason := disk_refusal(error):
            place = getattr(error, "filename", None)
            return _complain(f"{place or 'the place to write to'}: {reason}; choose another place", WRONG_INPUT)
        what = shortened(f"{type(error).__name__}: {error}", 500)
        return _complain(f"{what}; this is our fault, set RETAINER_DEBUG=1 to see where", OUR_FAULT)


def _words(verb: str, arguments: Sequence[str]) -> list[str]:
    """Return the one or two words that name a command; a first word and more mean two."""
    parts = PARTS.get(verb, ())
    if arguments and arguments[0] in parts:
        return [verb, arguments[0]]
    if parts and len(arguments) > 1 and not any(argument.startswith("-") for argument in arguments[:2]):
        close = nearest(arguments[0], parts)
        raise InputError(f"there is no `{verb} {arguments[0]}`{close}; known are {', '.join(parts)}")
    return [verb]


def _help() -> str:
    verbs = "\n".join(f"  {verb:10} {about}" for verb, about in VERBS.items())
    return f"usage: retainer VERB ...\n\n{verbs}\n\nretainer VERB --help says more."


def _say(text: str) -> int:
    sys.stdout.write(text + "\n")
    return DONE


def _complain(text: str, status: int) -> int:
    """Say what went wrong; of several processes with one fault of their user, the first says it."""
    if launch().rank and status != OUR_FAULT:
        time.sleep(LINGER if status == WRONG_INPUT else 0)
        return status
    sys.stderr.write(f"retainer: {printable(' '.join(text.split()))}\n")
    return status
