"""Every command and every program of every page runs, and leaves behind what the page says."""

import json
import re
from pathlib import Path

import pytest
import yaml
from pages import PAGES, ROOT, read_page
from place import Place

from retainer.data.io import read
from retainer.errors import InputError


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_page(path, run_page, account):
    place, page = run_page(path), read_page(path)
    account(place)
    seen = sum(len(block.calls) for _, block in [*place.done, *place.left_out])
    assert seen == page.counted > 0, f"{page.name} has {page.counted} calls, of which {seen} were seen"
    AFTER.get(page.name, lambda place: None)(place)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("```sh\nretainer log nowhere\n```\n", "page.md:1: retainer log nowhere\nended with status 2"),
        ("```sh\ncat examples/cities.jsonl | retainer log nowhere\n```\n", "ended with status 2"),
        ("<!-- docs-test: status 1 -->\n```sh\nretainer log nowhere\n```\n", "ended with status 2"),
        ("<!-- docs-test: status 2 -->\n```sh\ntrue\nretainer log nowhere\n```\n", "of which command"),
        ("<!-- docs-test: not run: why -->\n```sh\nretainer log --onwards\n```\n", "there is no --onwards"),
    ],
)
def test_a_page_that_is_wrong_fails(text, says, tmp_path, encoder, monkeypatch):
    monkeypatch.setattr("pages.ROOT", tmp_path)
    (tmp_path / "page.md").write_text(text)
    with pytest.raises((AssertionError, InputError), match=re.escape(says)):
        Place(tmp_path / "place", encoder).walk(read_page(tmp_path / "page.md"))


def after_readme(place):
    assert '"entity_group": "artist"' in place.said and '"entity_group": "city"' in place.said
    assert (place.folder / "compare.html").is_file()


def after_cli(place):
    assert (place.folder / "my-demo" / "report.html").is_file()
    assert "did you mean 'temperature'?" in place.said and '"entity_group": "city"' in place.said
    options = yaml.safe_load((place.folder / "learn.yaml").read_text())
    assert (options["epochs"], options["set"]) == (3, {"look_share": 0.5}), "what the page shows of the file"


def after_formats(place):
    here = place.folder
    assert read(here / "back.jsonl").counts == read(here / "examples/cities.jsonl").counts
    assert read(here / "tasks.json").counts["city"] > 0
    assert len(read(here / "tasks.jsonl")) == len(read(here / "examples/cities.jsonl"))


def after_versions(place):
    assert "learned city; knows artist, city" in place.said and "models/v1-again is as it was saved" in place.said
    assert "the same weights, bit for bit" in place.said
    models = place.folder / "models"
    assert (models / "v2-kept/parent/kept.json").is_file() and not (models / "v2/parent").exists()
    assert set(_record(models / "v2")["scores"]["before"]) == {"artist"}
    assert (models / "v1-again/retainer.json").read_bytes() == (models / "v1/retainer.json").read_bytes()


def after_tutorial(place):
    """The page promises that plain fine-tuning forgets, that RDP does not, and that the gates tell them apart."""
    assert "--max-drop 5: no, artist dropped by" in place.said and "--max-drop 5: passed by artist" in place.said
    assert "--min-agreement 90: passed by artist" in place.said
    assert not (place.folder / "tasks").exists(), "the old data are gone before the new type is learned"
    assert '"entity_group": "restaurant"' in place.said and '"entity_group": "artist"' in place.said


def _record(folder: Path):
    return json.loads((folder / "retainer.json").read_text())


AFTER = {
    "README.md": after_readme,
    "docs/cli.md": after_cli,
    "docs/formats.md": after_formats,
    "docs/versions.md": after_versions,
    "docs/tutorial.md": after_tutorial,
}
