"""The command line: a table of verbs. Each is a function in `retainer.commands`, imported when it is called."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from retainer.about import __version__
from retainer.arguments import call, parse
from retainer.errors import InputError, unknown

VERBS = {
    "demo": "see forgetting happen, and not happen, in a few minutes",
    "learn": "teach a model new types from data in which only they are annotated",
    "predict": "find the entities of texts",
    "evaluate": "score a model on annotated data",
    "compare": "say what a new version kept, gained and lost; a gate for CI",
    "bench": "measure methods side by side over the tasks of a benchmark",
    "report": "say which method of a bench to use, and whether the difference is real",
    "check": "see what is odd in data before anyone trains on it",
    "convert": "turn one format into another",
    "export": "write a model as ONNX, for use without PyTorch",
    "split": "cut a corpus into the tasks of the benchmark protocol",
}

DONE, WRONG_INPUT, OUR_FAULT, INTERRUPTED = 0, 2, 3, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit status; never more than one sentence about what the user did wrong."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    verb = arguments[0] if arguments else "--help"
    if verb in ("-h", "--help", "help"):
        return _say(_help())
    if verb == "--version":
        return _say(f"retainer {__version__}")
    if verb not in VERBS:
        return _complain(str(unknown("verb", verb, VERBS)), WRONG_INPUT)
    return _guarded(verb, arguments[1:])


def _guarded(verb: str, arguments: Sequence[str]) -> int:
    """Call a verb and turn whatever it raises into a sentence and a status."""
    try:
        command = getattr(import_module(f"retainer.commands.{verb}"), verb)
        return call(command, parse(verb, command, arguments)) or DONE
    except InputError as error:
        return _complain(str(error), WRONG_INPUT)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        return _complain("interrupted; call the same again, and it goes on with what was kept", INTERRUPTED)
    except Exception as error:
        if os.environ.get("RETAINER_DEBUG"):
            traceback.print_exc()
        what = f"{type(error).__name__}: {error}"
        return _complain(f"{what}; this is our fault, set RETAINER_DEBUG=1 to see where", OUR_FAULT)


def _help() -> str:
    verbs = "\n".join(f"  {verb:9} {about}" for verb, about in VERBS.items())
    return f"usage: retainer VERB ...\n\n{verbs}\n\nretainer VERB --help says more."


def _say(text: str) -> int:
    sys.stdout.write(text + "\n")
    return DONE


def _complain(text: str, status: int) -> int:
    sys.stderr.write(f"retainer: {' '.join(text.split())}\n")
    return status
