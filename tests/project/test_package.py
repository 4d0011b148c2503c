"""What people get who install retainer; `make dist` builds it and tries it, which takes minutes."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = SETTINGS["project"]
HOOK = SETTINGS["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
RECORD = ROOT / "results" / "dist.txt"
EXTRAS = PROJECT["optional-dependencies"]


def dist():
    spec = importlib.util.spec_from_file_location("dist_benchmark", ROOT / "benchmarks" / "dist.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
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
    metadata = "\n".join(tool.WANTED) + "\n\nsee [the guide](https://example.org/guide.md)\n"
    inside = ["retainer/py.typed", "retainer/cli/main.py", "retainer-1.dist-info/METADATA"]
    assert tool.wheel_faults(inside, metadata) == []
    faults = tool.wheel_faults([*inside[1:], "tests/conftest.py"], metadata[9:] + "![a curve](docs/demo.svg)")
    assert faults == [
        "the wheel lacks retainer/py.typed",
        "the wheel has tests/conftest.py",
        "the metadata lack 'Author: '",
        "the long description links to a file beside the README: (docs/demo.svg)",
    ]


def test_the_long_description_has_no_link_to_a_file():
    """What the build makes of the README; nothing of what it says is lost but pictures and comments."""
    made = (ROOT / "README.md").read_text("utf-8")
    for rule in HOOK["substitutions"]:
        made = re.sub(rule["pattern"], rule["replacement"], made)
    assert dist().RELATIVE.findall(made) == [] and "<!--" not in made
    assert "every option (`docs/cli.md`)" in made and "In `examples/artists.conll` only" in made
    assert "install (`docs/install.md`), tutorial (`docs/tutorial.md`)" in made
    rule = HOOK["substitutions"][-1]
    assert re.sub(rule["pattern"], rule["replacement"], "[a](https://b.c)") == "[a](https://b.c)"


@pytest.mark.skipif(not RECORD.exists(), reason="the sdist has no results")
def test_the_page_names_the_pythons_that_were_tried():
    page, record = (ROOT / "docs" / "install.md").read_text("utf-8"), RECORD.read_text("utf-8")
    tried = re.findall(r"^## Python ([\d.]+)$", record, flags=re.MULTILINE)
    rows = re.findall(r"^\| (3\.\d[^|]*) \| the w", page, flags=re.MULTILINE)
    assert sorted(tried) == sorted(one for row in rows for one in row.split(", "))
    assert not re.search(r"(?<![\w.])/(?:tmp|home|root|opt|usr)/", record), "a path of a machine"


def test_a_record_keeps_what_other_pythons_printed(tmp_path, capsys):
    tool, path = dist(), tmp_path / "dist.txt"
    for version, said in (("3.12.1", "a"), ("3.9.2", "b"), ("3.12.1", "/scratch/x")):
        record = tool.Record(hidden={"/scratch": "SCRATCH"})
        record.say(f"## Python {version}\n\n{said}")
        tool.keep(record, path)
    assert path.read_text() == "## Python 3.9.2\n\nb\n\n## Python 3.12.1\n\nSCRATCH/x\n"
    assert capsys.readouterr().out.endswith("SCRATCH/x\n")


def test_the_first_block_of_the_readme_is_what_is_run():
    commands = dist().readme_commands()
    assert commands[0].startswith("retainer learn ") and commands[-1].startswith("retainer predict ")
