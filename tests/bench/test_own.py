"""A bench on one's own data: parts cut from one file, a preset made of its types, and what is recommended."""

from dataclasses import replace

import pytest

from results import result, task
from retainer.bench.preset import QUICK, own, preset, quick
from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.splits import read_splits
from retainer.errors import InputError
from retainer.report.bench.advice import advice
from retainer.report.bench.published import Published
from retainer.report.bench.ranking import Ranking
from retainer.report.bench.rows import MethodRow


class TestParts:
    def test_a_file_is_cut(self, tmp_path):
        write(generate(600, seed=1), tmp_path / "all.conll", "conll")
        train, dev, test = read_splits(tmp_path / "all.conll")
        assert len(train) + len(dev) + len(test) == 600
        assert [round(len(part) / 600, 1) for part in (train, dev, test)] == [0.7, 0.1, 0.2]

    def test_no_text_is_in_two_parts(self, tmp_path):
        sentences = generate(100, seed=1).sentences
        write(sentences * 3, tmp_path / "all.conll", "conll")
        texts = [{sentence.words for sentence in part} for part in read_splits(tmp_path / "all.conll")]
        assert not (texts[0] & texts[1] or texts[0] & texts[2] or texts[1] & texts[2])

    def test_too_little(self, tmp_path):
        (tmp_path / "one.conll").write_text("Paris B-city\n")
        with pytest.raises(InputError, match="too few entities"):
            read_splits(tmp_path / "one.conll")


class TestPresets:
    def test_own(self):
        made = own(["a", "b", "c"])
        assert list(made.settings) == ["FG-1-PG-1", "FG-2-PG-1"] and made.types == ("a", "b", "c")
        assert list(own(["a", "b"]).settings) == ["FG-1-PG-1"]

    @pytest.mark.parametrize("types", [[], ["a"]])
    def test_too_few_types(self, types):
        with pytest.raises(InputError, match="an old and a new one"):
            own(types)

    def test_quick(self):
        small = quick(preset("conll2003"), "misc")
        assert small.types == ("location", "organisation", "person", "misc") and small.methods == QUICK
        assert {"retain", "cpfd", "rdp", "rdp-no-ppl"} <= set(QUICK), "what docs/which-method.md recommends"
        assert list(small.settings) == ["FG-3-PG-1"] and small.settings["FG-3-PG-1"].epochs == 5
        assert list(small.seeds_of("rdp")) == [1, 2, 3] and small.name != "conll2003"

    def test_a_type_nobody_has(self):
        with pytest.raises(InputError, match="person"):
            quick(preset("conll2003"), "persn")


def row(name, dev, old=74.0, new=86.0, support=500, **more):
    """Make a method with the given dev scores, seed by seed."""
    cells = []
    for seed, macro in enumerate(dev, 1):
        first = task(macro=75.9, dev={"macro": 75.9})
        facts = {"dev": {"macro": macro}, "per_type": {"a": {"support": support}}}
        last = task(macro=80.0, old_macro=old, new_macro=new, **facts)
        cells.append(result(name, seed, 80.0, [first, last], **more))
    return MethodRow(name, tuple(cells))


def advised(*rows):
    return advice(Ranking("s", rows, Published()))


class TestAdvice:
    def test_what_three_seeds_do_not_prove_is_not_nothing(self):
        """The case that went wrong: the seeds of tbcl lie far apart, so its lead is not proved, and frozen is cheap."""
        tbcl = row("tbcl", [70.0, 60.0, 42.0], old=73.1, new=26.2, seconds=900.0)
        frozen = row("frozen", [44.0, 44.0, 44.0], old=59.8, new=14.0, seconds=100.0)
        assert advised(tbcl, frozen) == [
            "Use tbcl. After it the old types have macro F1 73.1 (75.9 before), the new ones 26.2.",
            "Take this with care: three seeds cannot distinguish it from frozen.",
        ]

    def test_a_cheaper_one_that_is_as_good(self):
        said = advised(row("tbcl", [80, 84, 82]), row("rdp", [79, 83, 81], old=73.0, new=85.0), row("x", [70, 71, 72]))
        assert said == [
            "Use rdp. After it the old types have macro F1 73.0 (75.9 before), the new ones 85.0.",
            "tbcl is best on the dev part, but by at most a point on old and on new types, and costs 2.0 times the "
            "passes through the encoder.",
        ]

    @pytest.mark.parametrize(("old", "new"), [(72.9, 86.0), (74.0, 84.9)])
    def test_more_than_a_point_on_either_side_decides(self, old, new):
        said = advised(row("tbcl", [80, 84, 82]), row("rdp", [80, 84, 82], old, new))
        assert said[0].startswith("Use tbcl.")

    def test_the_dev_set_decides_and_not_the_test_set(self):
        def on_dev(name, old):
            [cell] = row(name, [80]).cells
            dev = {"macro": 80.0, "old_macro": old, "new_macro": 86.0}
            return MethodRow(name, (replace(cell, tasks=(cell.tasks[0], replace(cell.tasks[1], dev=dev))),))

        assert advised(on_dev("tbcl", 74.0), on_dev("rdp", 72.9))[0].startswith("Use tbcl.")
        assert advised(on_dev("tbcl", 74.0), on_dev("rdp", 73.1))[0].startswith("Use rdp.")

    def test_the_clock_never_decides(self):
        """A machine that had other work to do must not change what is recommended."""
        said = advised(row("extend_ner", [80, 84, 82], seconds=900.0), row("rdp", [79, 83, 81], seconds=1.0))
        assert said[0].startswith("Use extend_ner.")

    def test_what_would_be_lost(self):
        said = advised(row("rdp", [80, 81, 82]), row("finetune", [40, 41, 40], old=3.0))
        assert said[-1] == "After plain fine-tuning the old types would have 3.0."

    @pytest.mark.parametrize(("dev", "support", "says"), [([80], 500, "one run"), ([80, 81, 82], 199, "only 199")])
    def test_doubts(self, dev, support, says):
        assert says in advised(row("rdp", dev, support=support))[-1]

    def test_an_upper_bound_is_no_choice(self):
        bounds = row("joint", [99, 99, 99]), row("partial_joint", [98, 98, 98])
        assert advised(*bounds)[0].startswith("Only an upper bound was measured")
        assert advised(*bounds, row("rdp", [80, 81, 82]))[0].startswith("Use rdp.")


@pytest.mark.long
def test_a_quick_look(tmp_path, encoder, capsys):
    write(generate(160, seed=1, types=["artist", "city"]), tmp_path / "all.conll", "conll")
    call = [
        "bench",
        "own",
        "--data",
        str(tmp_path / "all.conll"),
        "--quick",
        "--new",
        "artist",
        "--encoder",
        str(encoder),
    ]
    numbers = ["--set.base_lr", "3e-3", "--set.epochs", "1", "--device", "cpu", "--out", str(tmp_path / "out")]
    assert main([*call, *numbers]) == 0
    out = capsys.readouterr().out
    assert "\nUse " in out and all(name in out for name in QUICK)
    assert (tmp_path / "out" / "own-quick" / "table.md").is_file()


@pytest.mark.parametrize(
    ("more", "says"),
    [(["--new", "city"], "add --quick"), (["--quick", "--new", "cty"], "city"), (["--methods", "rpd"], "rdp")],
)
def test_bad_calls(tmp_path, capsys, more, says):
    write(generate(160, seed=1, types=["artist", "city"]), tmp_path / "all.conll", "conll")
    assert main(["bench", "own", "--data", str(tmp_path / "all.conll"), "--out", str(tmp_path / "o"), *more]) == 2
    assert says in capsys.readouterr().err


def test_no_data(tmp_path, capsys):
    assert main(["bench", "own", "--data", str(tmp_path / "none"), "--out", str(tmp_path / "o")]) == 2
    assert "there is no" in capsys.readouterr().err
