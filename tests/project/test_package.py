"""What people get who install retainer; `make dist` builds it and tries it, which takes minutes."""

import importlib.util
import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def dist():
    spec = importlib.util.spec_from_file_location("dist_benchmark", ROOT / "benchmarks" / "dist.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_all_has_every_extra():
    (everything,) = map(Requirement, EXTRAS["all"])
    assert everything.extras == set(EXTRAS) - {"all", "dev"}


def test_every_requirement_is_pinned():
    """A requirement that is not would bring another version every day."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").split()
    pinned = {canonical(line.split("==")[0]): line.split("==")[1] for line in lines}
    asked = [Requirement(one) for some in (PROJECT["dependencies"], *EXTRAS.values()) for one in some]
    for one in asked:
        if one.name != "retainer":
            assert canonical(one.name) in pinned, f"{one.name} is not in constraints.txt"
            assert one.specifier.contains(pinned[canonical(one.name)]), f"{one} excludes what is tested"


def test_pythons_that_are_named_are_those_that_the_page_names():
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    tested = re.findall(r"3\.\d+", " ".join(re.findall(r"^\| (3\.\d[^|]*)\| the w", page, flags=re.MULTILINE)))
    assert sorted(named) == sorted(tested)


def test_every_extra_is_on_the_page():
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE)) == set(EXTRAS) - {"dev"}


def test_faults_of_a_package_are_found():
    """An sdist with measured cells or without examples, a wheel without its mark of types or with tests."""
    tool = dist()
    fine = [f"retainer-1/{name}" for name in tool.NEEDED]
    assert tool.sdist_faults([*fine, "retainer-1/results/README.md"]) == []
    assert tool.sdist_faults([*fine[1:], "retainer-1/results/bench/conll2003/x.json"]) == [
        "the sdist lacks src/retainer/py.typed",
        "the sdist has results/bench/conll2003/x.json",
    ]
    metadata = "License-Expression: Apache-2.0\nRequires-Python: >=3.11\nProvides-Extra: all\nDescription-Content-Type"
    inside = ["retainer/py.typed", "retainer/cli/main.py", "retainer-1.dist-info/METADATA"]
    assert tool.wheel_faults(inside, metadata) == []
    faults = tool.wheel_faults([*inside[1:], "tests/conftest.py"], metadata[30:])
    assert faults[:2] == ["the wheel lacks retainer/py.typed", "the wheel has tests/conftest.py"] and len(faults) == 3


def test_the_first_block_of_the_readme_is_what_is_run():
    commands = dist().readme_commands()
    assert commands[0].startswith("retainer learn ") and commands[-1].startswith("retainer predict ")
