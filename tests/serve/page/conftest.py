"""The page in a real browser: one browser and one server per run, a fresh context for each test."""

import pytest
from browsing import EVIL_TYPE, MARKUP_NAME, browser, tab
from made_once import made_once
from serving import served

import retainer
from retainer.data.generated import generate
from retainer.data.tasks import hide
from retainer.training.learn import learn
from retainer.training.recipe import Recipe
from retainer.versions.retype import rename_types


@pytest.fixture(scope="session")
def specs(tmp_path_factory, encoder):
    """A lineage of three versions: artists; artists and cities; the same with the cities renamed."""

    def teach(folder):
        recipe = Recipe(epochs=6, batch=8, base_lr=5e-3, lr=5e-3)
        data, dev = (generate(size, seed=seed, types=["artist", "city"]) for size, seed in ((200, 5), (60, 8)))
        how = {"method": "rdp", "recipe": recipe, "device": "cpu"}  # its tiny versions differ on the texts at hand
        first = learn(hide(data, ["artist"]), encoder, dev=hide(dev, ["artist"]), seed=1, **how)
        first.save(folder / "v1")
        second = learn(hide(data, ["city"]), folder / "v1", dev=dev, seed=2, **how)
        second.save(folder / "v2")
        rename_types(retainer.load(folder / "v2", device="cpu"), {"city": EVIL_TYPE}).save(folder / "v3")

    folder = made_once(tmp_path_factory, "lineage", teach)
    return [str(folder / "v1"), str(folder / "v2"), f"{MARKUP_NAME}={folder / 'v3'}"]


@pytest.fixture(scope="session")
def server(specs):
    with served(*specs) as running:
        yield running


@pytest.fixture(scope="package")
def chromium():
    with browser() as running:
        yield running


@pytest.fixture
def page(chromium, server):
    """The page, loaded; an error in it fails the test."""
    with tab(chromium, server.address) as loaded:
        loaded.wait_for_selector("#find:not([hidden])")
        yield loaded


@pytest.fixture(scope="session")
def texts():
    return [" ".join(sentence.words) for sentence in generate(12, seed=31, types=["artist", "city"])]
