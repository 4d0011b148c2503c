"""The other ends of stdout and stderr, and the user's disk: full, closed, read-only, or gone early."""

import errno
import os
import subprocess
import sys

import pytest
from safetensors import SafetensorError

from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.data.io import write

NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def here(tmp_path, monkeypatch, artist, pair):
    """A folder with something for every verb."""
    monkeypatch.chdir(tmp_path)
    write(artist, "artist.conll", "conll")
    write(generate(20, seed=1, types=["artist", "city"]), "both.conll", "conll")
    for name, place in pair.items():
        os.symlink(place, name)
    return tmp_path


def opened(end):
    """Return a stream with another end: a full disk, or a pipe that is not read any more; None is closed."""
    if end == "closed":
        return None
    if end == "full":
        return open("/dev/full", "w", encoding="utf-8")
    read, written = os.pipe()
    os.close(read)
    return os.fdopen(written, "w", encoding="utf-8")


@pytest.fixture
def to(here, monkeypatch, capsys):
    """Run a command with such a stream; return its status, and what it printed to the other one."""

    def call(end, *argv, stream="stdout"):
        file = opened(end)
        with monkeypatch.context() as patch:
            patch.setattr(sys, stream, file)
            status = main([str(part) for part in argv])
            if file is not None:
                file.close()  # as Python does when it ends; whatever is left must not fail here
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return status, err if stream == "stdout" else out

    return call


PRINTING = [
    ("check", "artist.conll"),
    ("log", "v2"),
    ("verify", "v2"),
    ("types", "v2"),
    ("evaluate", "v2", "artist.conll"),
    ("compare", "v1", "v2", "artist.conll"),
    ("predict", "v1", "--input", "artist.conll"),
    ("--help",),
    ("--version",),
]


class TestStdout:
    @pytest.mark.parametrize("argv", PRINTING, ids=lambda argv: argv[0])
    @pytest.mark.parametrize(("end", "says"), [("full", "No space left on device"), ("closed", "stdout is closed")])
    def test_one_that_cannot_be_written_is_status_2(self, to, argv, end, says):
        status, err = to(end, *argv)
        assert status == 2 and err.splitlines()[-1].startswith("retainer: stdout") and says in err

    @pytest.mark.parametrize("argv", PRINTING, ids=lambda argv: argv[0])
    def test_a_reader_that_leaves_early_changes_nothing(self, to, argv):
        status, err = to("left", *argv)
        assert status == 0 and "retainer:" not in err

    @pytest.mark.parametrize("more", [(), ("--json",)])
    def test_a_gate_that_said_no_still_says_so(self, to, more):
        status, err = to("left", "compare", "v1", "v2", "artist.conll", "--min-agreement", "100", *more)
        assert status == 1 and "min-agreement" in err

    def test_help_of_a_verb(self, to):
        with pytest.raises(SystemExit) as exit:
            to("left", "learn", "--help")
        assert exit.value.code == 0
        assert to("full", "learn", "--help")[0] == 2

    def test_an_endless_text_ends_with_its_reader(self, here, monkeypatch):
        """Without an end of its own, `yes | retainer predict MODEL - | head -1` would run for ever."""
        said = iter(range(10_000))
        monkeypatch.setattr(sys, "stdout", opened("left"))
        monkeypatch.setattr("retainer.data.texts.arriving_lines", lambda path: ((n, "a text") for n in said))
        assert main(["predict", "v1", "-"]) == 0 and next(said) < 1000
        sys.stdout.close()

    def test_what_the_encoding_lacks_is_escaped(self, here, monkeypatch, tmp_path):
        with open(tmp_path / "out", "w", encoding="ascii") as file:
            monkeypatch.setattr(sys, "stdout", file)
            assert main(["compare", "v1", "v2", "artist.conll"]) == 0
        assert "v1 \\u2192 v2" in (tmp_path / "out").read_text()

    def test_as_processes(self, here):
        """Python itself must find nothing to complain about when it ends."""
        call = f"{sys.executable} -m retainer check artist.conll"
        for end, status in ((">/dev/full", 2), (">&-", 2), (">/dev/null 2>/dev/full", 0), ("| head -c 1", 0)):
            done = subprocess.run(["bash", "-o", "pipefail", "-c", f"{call} {end}"], capture_output=True, text=True)
            assert done.returncode == status and done.stderr.count("\n") == (status == 2), end


class TestStderr:
    @pytest.mark.parametrize("end", ["full", "closed", "left"])
    def test_remarks_may_be_lost(self, to, end):
        status, out = to(end, "compare", "v1", "v2", "artist.conll", stream="stderr")
        assert status == 0 and "v1 → v2" in out

    @pytest.mark.parametrize("end", ["full", "closed"])
    def test_learning_goes_on_without_its_progress(self, to, here, encoder, end):
        argv = ("learn", "artist.conll", "--from", encoder, "--out", "v", "--epochs", "1")
        status, out = to(end, *argv, stream="stderr")
        assert status == 0 and "learned" in out and (here / "v" / "retainer.json").is_file()

    def test_a_refusal_keeps_its_status(self, to):
        assert to("full", "check", "nowhere.conll", stream="stderr")[0] == 2


WRITING = [
    ("learn", "artist.conll", "--from", "v1", "--types", "artist", "--out"),
    ("convert", "artist.conll", "--to", "jsonl"),
    ("convert", "artist.conll", "--to", "brat"),
    ("split", "artist.conll", "--fg", "1", "--pg", "1", "--out"),
    ("export", "v2", "--plain"),
    ("export", "v2", "--prodigy"),
    ("rollback", "v2", "--out"),
    ("types", "rename", "v2", "city=town", "--out"),
    ("evaluate", "v1", "artist.conll", "--page"),
    ("compare", "v1", "v2", "artist.conll", "--page"),
    ("report", "v2", "--data", "artist.conll", "--out"),
    ("bench", "own", "--data", "both.conll", "--methods", "rdp", "--encoder", "v1", "--out"),
    ("demo", "--sentences", "16", "--corpus"),
]


@pytest.mark.parametrize("argv", WRITING, ids=lambda argv: f"{argv[0]} {argv[-1]}")
@pytest.mark.parametrize("place", ["file/below", "/proc/nowhere"])
def test_a_place_that_cannot_be_written_is_named_before_any_work(argv, place, here, capsys, monkeypatch):
    monkeypatch.setattr("retainer.training.loop.TrainingLoop.run", lambda *_: pytest.fail("it trained"))
    (here / "file").write_text("a file")
    more = ["--input", "artist.conll"] if argv[-1] == "--prodigy" else []
    called = [*argv[:2], place, *argv[2:]] if argv[0] == "convert" else [*argv, place, *more]
    assert main([str(part) for part in called]) == 2
    complaint = capsys.readouterr().err.splitlines()[-1]
    assert complaint.startswith("retainer: ") and place in complaint
    assert not list(here.glob("*.lock"))


@pytest.mark.parametrize(
    "error", [NO_SPACE, SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")]
)
@pytest.mark.parametrize(
    "argv",
    [
        ("types", "drop", "v2", "city", "--out", "new"),
        ("export", "v2", "--plain", "new"),
        ("learn", "artist.conll", "--from", "v1", "--types", "artist", "--epochs", "1", "--out", "new"),
    ],
    ids=lambda argv: argv[0],
)
def test_a_disk_that_fills_up_is_not_our_fault(argv, error, here, capsys, monkeypatch):
    def full(*_, **__):
        raise error

    monkeypatch.setattr("retainer.model.tagger.Tagger.save", full)
    assert main(list(argv)) == 2
    assert "retainer: new cannot be written: No space left on device" in capsys.readouterr().err
    assert not (here / "new").exists()


def test_a_refusal_of_the_disk_from_anywhere(here, capsys, monkeypatch):
    def full(path, **_):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), "somewhere")

    monkeypatch.setattr("retainer.cli.verbs.check.read", full)
    assert main(["check", "artist.conll"]) == 2
    assert capsys.readouterr().err == "retainer: somewhere: Read-only file system; choose another place\n"


def test_a_broken_pipe_elsewhere_is_no_success(here, capsys, monkeypatch):
    def broken(path, **_):
        raise BrokenPipeError

    monkeypatch.setattr("retainer.cli.verbs.check.read", broken)
    assert main(["check", "artist.conll"]) == 3
