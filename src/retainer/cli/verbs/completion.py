"""`retainer completion`."""

from __future__ import annotations

from retainer.cli.output import say
from retainer.cli.shell_scripts import SCRIPTS, known_words
from retainer.errors import unknown


def completion(shell: str, /) -> None:
    """Print a script with which a shell completes verbs and flags.

    bash reads it from a file in ~/.local/share/bash-completion/completions, zsh from one in a folder of its fpath, fish
    from one in ~/.config/fish/completions; or source it.

    :param shell: bash, zsh or fish
    """
    from retainer.cli.main import PARTS, VERBS

    if shell not in SCRIPTS:
        raise unknown("shell", shell, SCRIPTS)
    say(SCRIPTS[shell](known_words(VERBS, PARTS)))
