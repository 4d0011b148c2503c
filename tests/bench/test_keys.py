"""What a cell is known by: it changes with what is measured, and never because the code has grown."""

from dataclasses import make_dataclass, replace
from pathlib import Path

import pytest

from retainer.bench.cell import Cell, digest
from retainer.bench.cell import weights_of as of
from retainer.bench.preset import Setting, preset
from retainer.bench.run import Bench
from retainer.data.corpus import Splits
from retainer.data.generated import generate
from retainer.data.tasks import plan
from retainer.methods import METHODS, RDP, TBCL
from retainer.report.bench.folder import read_bench
from retainer.training.recipe import RECIPES, Recipe

RESULTS = Path(__file__).parents[2] / "results" / "bench"
SETTING = Setting("FG-1-PG-1", 1, 1, 10)

DIGESTS = {
    "finetune": "c2bfa8c6cc3d",
    "joint": "c2bfa8c6cc3d",
    "partial_joint": "c2bfa8c6cc3d",
    "self_training": "cc2e13585b08",
    "extend_ner": "63b73e985d5b",
    "learn_and_review": "cd6bda58864d",
    "lucir": "d5de835a9b97",
    "podnet": "1285f6e119e5",
    "cfner": "139b18c4f17c",
    "cpfd": "abee93203f55",
    "frozen": "b153f6afbf0f",
    "tbcl": "1b06ae830920",
    "rdp": "2e0cf25903ad",
    "rdp_paper": "5830221a2095",
    "rdp_tuned": "0c7e9f4b3821",
    "rdp_released": "f7366dffbcaa",
    "rdp-no-cd": "1d99e73469d9",
    "rdp-no-se": "ba780cffeacb",
    "rdp-no-ppl": "8bfe31826936",
    "rdp-no-pl": "346057dbe6e5",
    "retain": "61bddda73466",
    "retain-no-prior": "29f7b290184a",
    "retain-no-look": "48c6496072fc",
    "retain-no-mean": "ee86e2e07576",
}
"""The beginning of the hash of every method's configuration under the default recipe.

A field that is added to a recipe or a method must not change it: bench/cell.py has tables of such fields. A default
that is changed on purpose does, and then the cells measured with the old one are no longer used.
"""


def cell(name="rdp", method=None, recipe=None):
    return Cell("p", SETTING, name, method or METHODS[name], 1, "builtin", recipe or Recipe())


def grown(kind, default):
    """A method whose class has got one more field."""
    return make_dataclass(kind.__name__, [("later_weight", float, default)], bases=(kind,), frozen=True)()


@pytest.fixture(scope="module")
def made():
    return plan(Splits(generate(60, seed=1, types=["artist", "city"])), fg=1, pg=1)


@pytest.mark.parametrize("name", METHODS)
def test_no_configuration_has_changed(name):
    assert digest(cell(name).configuration)[:12] == DIGESTS[name]


def test_one_value_has_one_key(made):
    """Who types 1 means 1.0."""
    keys = [
        cell("retain", METHODS["retain"].__class__(look_weight=one), Recipe().changed({"text_share": one})).key(made)
        for one in (2, 2.0)
    ]
    assert keys[0] == keys[1]


def test_methods_without_fields_have_keys_of_their_own(made):
    names = ("finetune", "joint", "partial_joint")
    assert len({cell(name).key(made) for name in names}) == len({cell(name).file(Path("o")) for name in names}) == 3


class TestFieldsThatCameLater:
    @pytest.fixture(autouse=True)
    def table(self, monkeypatch):
        monkeypatch.setattr("retainer.bench.cell.ADDED_TO_METHODS", {"RDP": {"later_weight": 0.0}})

    @pytest.mark.parametrize(("name", "kind"), [("rdp", RDP), ("tbcl", TBCL)])
    def test_the_neutral_value_changes_nothing(self, name, kind, made):
        """A class whose parent has got the field has got it too."""
        known, later = cell(name), cell(name, grown(kind, 0.0))
        assert later.configuration == known.configuration and later.key(made) == known.key(made)

    @pytest.mark.parametrize(("name", "kind"), [("rdp", RDP), ("tbcl", TBCL)])
    def test_another_value_does(self, name, kind, made):
        known, later = cell(name), cell(name, grown(kind, 0.5))
        assert later.configuration["fields"] == {**known.configuration["fields"], "later_weight": 0.5}
        assert later.key(made) != known.key(made) and digest(later.configuration) != digest(known.configuration)
        neutral = replace(later, method=replace(later.method, later_weight=0.0))
        assert neutral.key(made) == known.key(made), "neutral is what changes nothing, not what is the default"

    def test_a_field_that_is_not_in_the_table_counts(self, made):
        podnet = METHODS["podnet"]
        assert cell("podnet", grown(type(podnet), 0.0)).key(made) != cell("podnet").key(made)


SECOND_ENCODER = {"mpnet-base": "ac758bf6c7e40e993659a69871fb98863bd3a794d2f53d75de60bde9c51ccad7"}
"""What benchmarks/second_encoder.py writes, by the hash of its weights: too large to be at hand here."""


@pytest.mark.parametrize("name", ["conll2003", "fewnerd", "wnut17", "snips"])
def test_what_is_in_the_repository_is_not_measured_again(name, request, monkeypatch):
    """The first seed of every method and setting is still the cell that a bench of today would measure."""
    monkeypatch.setattr("retainer.bench.cell.weights_of", lambda encoder: SECOND_ENCODER.get(encoder) or of(encoder))
    data, one = request.getfixturevalue(name), preset(name)
    bench, found = Bench(data, RESULTS, one.types), read_bench(RESULTS / name).files
    first = [(file, result) for file, result in found.items() if result.seed == 1]
    assert first
    for file, result in first:
        setting = one.setting(result.setting)
        recipe = RECIPES["paper" if result.variant == "recipe paper" else "retainer"]
        numbers, method = recipe.changed({"epochs": setting.epochs}), METHODS[result.method]
        if "=" in result.variant:
            numbers, method = Recipe(**result.recipe), replace(method, **result.fields)
        made = Cell(name, setting, result.method, method, 1, result.encoder, numbers, result.pool)
        assert made.file(RESULTS) == file and made.variant == result.variant
        assert made.key(bench.plan(made)) == result.key, file
