"""Versions of a project: where they come from, which one is in use, and the way back."""

import pytest

from retainer.errors import InputError
from retainer.workbench.project import Project
from retainer.workbench.versions import ProjectVersion, VersionOrigin, VersionUse


@pytest.fixture
def versions(project):
    job = project.jobs.add("teach", {}, "ann")
    project.versions.add("base", "hash 0", elsewhere="dslim/bert-base-NER")
    project.versions.add("v1", "hash 1", origin=VersionOrigin("base", job.id, 7), types=["city"])
    project.versions.add("v2", "hash 2", origin=VersionOrigin("v1"))
    return project.versions


def test_where_they_come_from(versions, folder):
    base, one, two = versions.all()
    assert base == ProjectVersion("base", None, "hash 0", None, base.added, "dslim/bert-base-NER")
    assert one == ProjectVersion("v1", "base", "hash 1", 1, one.added, types=("city",), texts=7) and two.parent == "v1"
    assert versions.place("base") == "dslim/bert-base-NER"
    assert versions.place("v1") == str(folder / "versions" / "v1")


def test_a_folder_elsewhere_is_found_from_anywhere(versions, tmp_path, monkeypatch):
    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path)
    versions.add("mine", "hash", elsewhere="model")
    assert versions.place("mine") == str(tmp_path / "model")


def test_a_moved_project_finds_its_versions(versions, project, folder, tmp_path):
    project.close()
    folder.rename(tmp_path / "moved")
    with Project.open(tmp_path / "moved") as moved:
        assert moved.versions.place("v2") == str(tmp_path / "moved" / "versions" / "v2")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda versions: versions.add("v1", "x"), "there is a version 'v1' already"),
        (lambda versions: versions.add("v3", "x", origin=VersionOrigin("v9")), "there is no version 'v9'"),
        (lambda versions: versions.add("../v3", "x"), "'../v3' cannot name a version"),
        (lambda versions: versions.add("", "x"), "'' cannot name a version"),
        (lambda versions: versions.use("v3", "ann"), "there is no version 'v3'; known are base, v1, v2"),
        (lambda versions: versions.go_back("ann"), "no version to go back to"),
    ],
)
def test_what_cannot_be(versions, change, says):
    with pytest.raises(InputError, match=says):
        change(versions)
    assert len(versions.all()) == 3 and versions.uses() == ()


def test_use_and_go_back(versions, project, folder):
    assert versions.in_use() is None
    for name in ("base", "v1", "v1", "v2"):
        assert versions.use(name, "ann").name == name == versions.in_use().name
    project.close()
    with Project.open(folder) as again:
        versions = again.versions
        assert [versions.go_back("bob").name for _ in range(2)] == ["v1", "base"]
        with pytest.raises(InputError, match="the one in use was the first"):
            versions.go_back("bob")
        versions.use("v2", "cem")
        assert versions.go_back("bob").name == "base" == versions.in_use().name
        steps = [(use.version, use.who, use.back) for use in versions.uses()]
        assert versions.uses()[0] == VersionUse("base", "ann", versions.uses()[0].when, False)
    assert steps[:3] == [("base", "ann", False), ("v1", "ann", False), ("v2", "ann", False)]
    assert steps[3:] == [("v1", "bob", True), ("base", "bob", True), ("v2", "cem", False), ("base", "bob", True)]
