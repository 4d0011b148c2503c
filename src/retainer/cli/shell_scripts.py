"""What a shell needs to complete a call: a script out of the verbs and the flags of their parsers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from retainer.cli.arguments import build, find_command

_SHORT = 70
"""Characters of a description beside a flag."""


class Words(NamedTuple):
    """What can follow a command: second words and flags, each with a few words about it."""

    parts: Mapping[str, str]
    flags: Mapping[str, str]


def known_words(verbs: Mapping[str, str], parts: Mapping[str, tuple[str, ...]]) -> dict[str, Words]:
    """Return what can follow every command; the empty one stands for the beginning."""
    shown = {verb: _brief(about) for verb, about in verbs.items()}
    found = {"": Words(shown, {"--help": "print the verbs", "--version": "print the version"})}
    for verb in verbs:
        own = parts.get(verb, ())
        found[verb] = Words({part: _about(verb, part) for part in own}, _flags(verb, verb))
        found |= {f"{verb} {part}": Words({}, _flags(verb, part)) for part in own}
    return found


def _about(verb: str, part: str) -> str:
    return _brief(find_command(verb, part).__doc__ or "")


def _flags(verb: str, part: str) -> dict[str, str]:
    """Return the flags of a command; one that takes names of fields ends where the name begins."""
    flags: dict[str, str] = {}
    for action in build(part, find_command(verb, part))._actions:
        ending = "." if isinstance(action.default, dict) else ""
        flags |= {f"{flag}{ending}": _brief(action.help or "") for flag in action.option_strings if flag[:2] == "--"}
    return flags


def _brief(text: str) -> str:
    """Return the first few words of a description, without what would mean something to a shell."""
    first = re.split(r"[;:.(]", " ".join(text.split()), maxsplit=1)[0].strip()
    return re.sub(r"[^\w ,=-]", "", first)[:_SHORT]


def _commands(words: Mapping[str, Words]) -> list[str]:
    """Return the commands, those of two words first: a shell takes the first case that fits."""
    return sorted(filter(None, words), key=lambda command: " " not in command)


def bash_script(words: Mapping[str, Words]) -> str:
    """Write the script for bash; what is no word of ours is completed as a file."""
    commands, verbs = _commands(words), " ".join((*words[""].parts, *words[""].flags))
    return "\n".join(
        [
            "_retainer() {",
            "  local word=${COMP_WORDS[COMP_CWORD]} known=",
            f'  if [ "$COMP_CWORD" -eq 1 ]; then known="{verbs}"',
            '  elif [ "${word#-}" != "$word" ]; then case "${COMP_WORDS[1]} ${COMP_WORDS[2]} " in',
            *(f'    "{command} "*) known="{" ".join(words[command].flags)}";;' for command in commands),
            "  esac",
            '  elif [ "$COMP_CWORD" -eq 2 ]; then case "${COMP_WORDS[1]}" in',
            *(
                f'    {command}) known="{" ".join(words[command].parts)}";;'
                for command in commands
                if words[command].parts
            ),
            "  esac",
            "  fi",
            '  COMPREPLY=($(compgen -W "$known" -- "$word"))',
            "}",
            "complete -o default -F _retainer retainer",
        ]
    )


def zsh_script(words: Mapping[str, Words]) -> str:
    """Write the script for zsh, with descriptions."""
    commands, verbs = _commands(words), _described({**words[""].parts, **words[""].flags})
    return "\n".join(
        [
            "#compdef retainer",
            "_retainer() {",
            "  local -a known",
            f"  if (( CURRENT == 2 )); then known=({verbs})",
            '  elif [[ $words[CURRENT] == -* ]]; then case "$words[2] $words[3] " in',
            *(f'    "{command} "*) known=({_described(words[command].flags)});;' for command in commands),
            "  esac",
            "  elif (( CURRENT == 3 )); then case $words[2] in",
            *(
                f"    {command}) known=({_described(words[command].parts)});;"
                for command in commands
                if words[command].parts
            ),
            "  esac",
            "  fi",
            "  (( $#known )) && _describe retainer known",
            "  [[ $words[CURRENT] == -* ]] || (( CURRENT == 2 )) || _files",
            "}",
            "compdef _retainer retainer",
        ]
    )


def _described(words: Mapping[str, str]) -> str:
    return " ".join(f"'{word}:{about}'" for word, about in words.items())


def fish_script(words: Mapping[str, Words]) -> str:
    """Write the script for fish, with descriptions."""
    lines = ["function __retainer_command", "    set -l given (commandline -opc)[2..3]", '    switch "$given"']
    for command in (command for command in words if " " in command):
        lines += [f"        case '{command}'", f"            echo '{command}'"]
    lines += ["        case '*'", '            echo "$given[1]"', "    end", "end"]
    for command, one in words.items():
        here = f"complete -c retainer -n \"string match -q -- '{command}' (__retainer_command)\""
        lines += [f"{here} -a {part} -d '{about}'" for part, about in one.parts.items()]
        lines += [f"{here} -l {flag.removeprefix('--')} -d '{about}'" for flag, about in one.flags.items()]
    return "\n".join(lines)


SCRIPTS: dict[str, Callable[[Mapping[str, Words]], str]] = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
"""The shells there is a script for."""
