"""A pool of text: training sentences that are set aside before there are slices, and shown without annotation."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from retainer.bench.cell import Cell
from retainer.bench.preset import Setting
from retainer.bench.progress import BenchProgress
from retainer.bench.run import Bench, run_bench
from retainer.bench.task_sequence import TaskSequence
from retainer.cli.main import main
from retainer.data.corpus import Splits, fingerprint
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.tasks import hide, plan, set_aside
from retainer.errors import InputError
from retainer.methods import METHODS
from retainer.training.recipe import Recipe

TYPES = ("artist", "city", "movie")
RECIPE = Recipe(epochs=1, base_lr=1e-3, lr=1e-3)


@pytest.fixture(scope="module")
def splits():
    return Splits(*(generate(size, seed=size, types=list(TYPES)) for size in (120, 30, 30)))


@pytest.fixture(scope="module")
def data(tmp_path_factory, splits):
    folder = tmp_path_factory.mktemp("data")
    for name, part in zip(("train", "dev", "test"), splits, strict=True):
        write(part, folder / f"{name}.conll", "conll")
    return folder


@pytest.fixture(scope="module")
def pooled(splits):
    return plan(splits, fg=1, pg=1, seed=1, pool=0.25)


def make(encoder, name="rdp", pool=0.25, **recipe):
    method = METHODS[name]
    return Cell("p", Setting("FG-1-PG-1", 1, 1, 1), name, method, 1, str(encoder), replace(RECIPE, **recipe), pool)


class TestThePlan:
    def test_the_pool_is_set_aside_before_there_are_slices(self, splits, pooled):
        train = splits.train
        assert len(pooled.pool) == 30 and len(pooled.train) == 90
        assert sum(map(len, pooled.slices)) == 90 and {row for rows in pooled.slices for row in rows} == set(range(90))
        both = Counter(one.words for part in (pooled.train, pooled.pool) for one in part)
        assert both == Counter(sentence.words for sentence in train), "every sentence is in one of them"
        places = [[train.sentences.index(one) for one in part] for part in set_aside(train, 30, 1)]
        assert all(one == sorted(one) for one in places), "both keep the order of the file"

    def test_nothing_is_annotated_in_it(self, pooled):
        assert not pooled.pool.counts and all(sentence.complete is None for sentence in pooled.pool)
        assert pooled.train.counts["artist"] > 0

    def test_the_seed_decides(self, splits, pooled):
        again, other = (plan(splits, fg=1, pg=1, seed=seed, pool=0.25) for seed in (1, 2))
        assert again.outline == pooled.outline and other.outline["pool"] != pooled.outline["pool"]
        assert pooled.outline["pool"] == fingerprint(pooled.pool)
        assert pooled.outline["files"]["train"] == fingerprint(pooled.train), "what slices are made of"

    def test_the_manifest_counts_it(self, pooled):
        assert pooled.manifest()["files"]["pool"]["sentences"] == 30

    def test_without_one_everything_is_as_it_was(self, splits):
        for made in (plan(splits, fg=1, pg=1, seed=1), plan(splits, fg=1, pg=1, seed=1, pool=0.0)):
            assert made.pool is None and made.train == hide(splits.train, TYPES)
            assert set(made.outline) == {"files", "groups", "slices"}
            assert set(made.outline["files"]) == set(made.manifest()["files"]) == {"train", "dev", "test"}

    def test_a_type_that_is_all_in_the_pool(self, splits):
        has = [any(span.type == "movie" for span in sentence.spans) for sentence in splits.train]
        alone = splits.train[has.index(True)]
        others = (sentence for sentence, found in zip(splits.train, has, strict=True) if not found)
        rare = replace(splits.train, sentences=(alone, *others), source="train.conll")
        seed = next(seed for seed in range(50) if alone in set_aside(rare, round(len(rare) * 0.5), seed)[1].sentences)
        with pytest.raises(InputError, match=r"in the pool, train.conll has no movie left to learn"):
            plan(Splits(rare), fg=1, pg=1, seed=seed, pool=0.5)


class TestTheCell:
    def test_with_0_it_is_what_it_was(self, encoder, data):
        plain, zero = make(encoder, pool=0.0), make(encoder, pool=0)
        before = Cell("p", plain.setting, "rdp", METHODS["rdp"], 1, str(encoder), RECIPE)
        bench = Bench(data, Path("o"), TYPES)
        for cell in (plain, zero):
            assert set(cell.configuration) == {"encoder", "recipe", "fields"} and "pool" not in cell.variant
            assert cell.file(Path("o")) == before.file(Path("o"))
            assert cell.key(bench.plan(cell)) == before.key(bench.plan(before))

    def test_a_pool_is_named_and_has_a_folder_of_its_own(self, encoder):
        assert make("builtin").variant.endswith("pool=0.25")
        assert make(encoder).variant.endswith(f"pool=0.25, {encoder.name}")
        files = {make(encoder, pool=pool, text_share=share).file(Path("o")) for pool in (0, 0.25) for share in (1.0, 0)}
        assert len(files) == 4

    def test_who_shares_a_first_version(self, encoder, data):
        """All methods of a pool do, with text and without; other slices have another."""
        bench = Bench(data, Path("o"), TYPES)
        cells = (make(encoder), make(encoder, "finetune"), make(encoder, text_share=0.0))
        assert len({cell.base_key(bench.plan(cell)) for cell in cells}) == 1
        assert len({cell.key(bench.plan(cell)) for cell in cells}) == 3
        others = (make(encoder), make(encoder, pool=0.0), make(encoder, pool=0.5))
        assert len({cell.base_key(bench.plan(cell)) for cell in others}) == 3

    @pytest.mark.parametrize("share", [-0.1, 1.0, 1.5, float("nan")])
    def test_what_is_no_share(self, share):
        with pytest.raises(InputError, match="share of the training sentences, at least 0 and below 1"):
            make("builtin", pool=share)


class TestMeasuring:
    @pytest.mark.parametrize("name", ["rdp", "finetune", "joint", "partial_joint", "rdp_released"])
    def test_who_gets_the_text(self, name, pooled, encoder):
        """Every task after the first, where there is a teacher; nobody sees the pool annotated."""
        sequence = TaskSequence(pooled, METHODS[name], encoder=str(encoder), recipe=RECIPE, seed=1, device="cpu")
        found = [step.version.lineage.data for step in sequence.run()]
        texts = [data.get("text", {}).get("sentences", 0) for data in found]
        assert texts == ([0, 30, 30] if name == "rdp" else [0, 0, 0])
        assert found[-1]["sentences"] == (90 if METHODS[name].joint else 30)

    def test_the_same_slices_without_text(self, pooled, encoder):
        recipe = replace(RECIPE, text_share=0.0)
        sequence = TaskSequence(pooled, METHODS["rdp"], encoder=str(encoder), recipe=recipe, seed=1, device="cpu")
        assert [step.version.lineage.data.get("text") for step in sequence.run()] == [None, None, None]

    def test_with_text_and_without_from_one_first_version(self, data, encoder, tmp_path):
        cells = [make(encoder, "extend_ner"), make(encoder, "extend_ner", text_share=0.0)]
        found = [one.as_dict() for one in run_bench(Bench(data, tmp_path, TYPES, "cpu"), cells, 1, BenchProgress())]
        assert len([path for path in (tmp_path / "bases").iterdir() if path.is_dir()]) == 1
        assert found[0]["tasks"][0]["per_type"] == found[1]["tasks"][0]["per_type"]
        assert "text_share=0.0, pool=0.25" in found[1]["variant"] and found[0]["key"] != found[1]["key"]


class TestTheVerb:
    def test_a_pool(self, data, encoder, tmp_path, capsys):
        call = ["bench", "own", "--data", str(data), "--out", str(tmp_path), "--methods", "rdp", "--seeds", "1"]
        call += ["--setting", "FG-2-PG-1", "--encoder", str(encoder), "--device", "cpu", "--set.epochs", "1", "--json"]
        assert main([*call, "--pool", "0.333"]) == 0
        (cell,) = json.loads(capsys.readouterr().out)
        assert "pool=0.333" in cell["variant"]
        assert "pool=0.333" in (tmp_path / "own" / "table.md").read_text()

    def test_what_is_no_share(self, data, capsys):
        for share, says in {"1": "and below 1, not 1", "-0.5": "at least 0", "half": "a number"}.items():
            assert main(["bench", "own", "--data", str(data), "--out", "o", f"--pool={share}"]) == 2
            assert says in capsys.readouterr().err
