"""`retainer completion`: the scripts know every verb and every flag, and bash does what its script says."""

import inspect
import subprocess

import pytest

from retainer.cli.main import PARTS, VERBS, main
from retainer.cli.shell_scripts import SCRIPTS, known_words
from retainer.cli.verbs.learn import learn


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("shell") / "retainer.bash"
    path.write_text(SCRIPTS["bash"](known_words(VERBS, PARTS)))
    return path


def completed(script, *words):
    """Return what bash offers for the last of some words."""
    array = " ".join(f"'{word}'" for word in ("retainer", *words))
    code = f'. {script}; COMP_WORDS=({array}); COMP_CWORD={len(words)}; _retainer; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    return done.stdout.split()


def test_bash(script):
    assert completed(script, "") == [*VERBS, "--help", "--version"]
    assert completed(script, "le") == ["learn"]
    assert completed(script, "learn", "data", "--e") == ["--exemplars", "--epochs"]
    assert "--set." in completed(script, "learn", "--s")
    assert completed(script, "types", "m") == ["merge"]
    assert completed(script, "types", "merge", "v1", "--i") == ["--into"]
    assert completed(script, "split", "--f") == ["--fg"], "a verb of the same name as a part of another"
    assert completed(script, "learn", "d") == [], "a file, which bash completes by itself"


@pytest.mark.parametrize("shell", SCRIPTS)
def test_every_verb_and_flag_is_known(shell, capsys):
    assert main(["completion", shell]) == 0
    said = capsys.readouterr().out
    flags = [name.rstrip("_").replace("_", "-") for name in inspect.signature(learn).parameters if name != "data"]
    assert all(verb in said for verb in VERBS) and all(flag in said for flag in flags)
    assert said.count("'") % 2 == 0 and said.count('"') % 2 == 0


def test_another_shell(capsys):
    assert main(["completion", "zhs"]) == 2
    assert "there is no shell 'zhs' (did you mean 'zsh'?); known are bash, zsh, fish" in capsys.readouterr().err
