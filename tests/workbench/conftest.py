"""Projects to try things on."""

import pytest

from retainer.workbench.project import Project


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "project"


@pytest.fixture
def project(folder):
    with Project.open(folder, create=True) as opened:
        yield opened
