"""Every page of the documentation is one that `make docs-test` runs, whole; and its marks are understood."""

import re
from importlib import import_module

import pytest
import yaml
from pages import PAGES, ROOT, read_page, require_known, require_valid

from retainer.cli.main import PARTS, VERBS

READ = [read_page(path) for path in PAGES]
OTHERS = ["CONTRIBUTING.md", "CHANGELOG.md", "results/README.md", "examples/README.md"]
"""Pages whose commands are not run."""
EACH = pytest.mark.parametrize("page", READ, ids=lambda page: page.name)


@EACH
def test_every_call_is_seen(page):
    calls = [call for block in page.blocks for call in block.calls]
    assert len(calls) == page.counted, f"{page.name} has calls of retainer in blocks that are not run"
    assert calls, f"{page.name} shows no command; which one is the page about?"
    for call in calls:
        require_valid(call)


@EACH
def test_what_is_said_in_passing_exists(page):
    for mention in page.mentions:
        require_known(mention)


@EACH
def test_programs_are_programs(page):
    for block in page.blocks:
        if block.language == "python":
            compile(block.text, f"{page.name}:{block.line}", "exec")


@pytest.mark.parametrize("name", [*(page.name for page in READ), *OTHERS])
def test_links_lead_somewhere(name):
    path = ROOT / name
    for target, part in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", path.read_text("utf-8")):
        other = path.parent / target if target else path
        assert other.exists(), f"{name} links to {target}"
        assert not part or part in sections(other), f"{name} links to a section {part} that {other.name} does not have"


def sections(path):
    """Return the names by which the sections of a page can be linked to."""
    titles = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", [*(page.name for page in READ), *OTHERS])
def test_files_that_are_named_exist(name):
    text = (ROOT / name).read_text("utf-8")
    for file in re.findall(r"\b(?:src/retainer|tests|benchmarks|docs|examples)/[\w/.-]*\w", text):
        assert (ROOT / file).exists(), f"{name} names {file}"
    for module in re.findall(r"^ *(?:from|import) (retainer[\w.]*)", text, flags=re.MULTILINE):
        import_module(module)


def test_the_readme_links_every_page():
    linked = set(re.findall(r"\]\((docs/[^)#]+\.md)", READ[0].text))
    assert linked >= {page.name for page in READ[1:]}


def test_every_verb_is_shown():
    [page] = [page for page in READ if page.name == "docs/cli.md"]
    calls = [call.split()[1:3] for block in page.blocks for call in block.calls]
    assert {verb for verb, _ in calls} == set(VERBS)
    for verb, parts in PARTS.items():
        assert {part for called, part in calls if called == verb} >= set(parts)


def test_a_new_page_is_run_too():
    assert set(PAGES) == {ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")}
    ci, make = (ROOT / ".ci" / "run").read_text(), (ROOT / "Makefile").read_text()
    assert "make docs-test" in ci and "pytest tests/docs" in make


def test_the_workflow_is_the_file():
    page, file = (ROOT / "docs" / "ci.md").read_text(), (ROOT / "docs" / "ci" / "gate.yml").read_text()
    assert f"```yaml\n{file}```" in page
    steps = [step for job in yaml.safe_load(file)["jobs"].values() for step in job["steps"]]
    calls = [line for step in steps for line in step.get("run", "").splitlines() if "retainer " in line]
    assert {call.split()[1] for call in calls if call.startswith("retainer")} == {"check", "verify", "compare"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<!-- docs-test: skip -->\n```sh\nretainer log x\n```\n", "is not a mark"),
        ("<!-- docs-test: not run: a reason -->\n```text\nout\n```\n", "never run"),
        ("```sh\nretainer log x\n```\n<!-- docs-test: status 1 -->\n", "behind the last block"),
    ],
)
def test_a_mark_that_does_nothing_is_refused(tmp_path, monkeypatch, text, says):
    monkeypatch.setattr("pages.ROOT", tmp_path)
    (tmp_path / "page.md").write_text(text)
    with pytest.raises(ValueError, match=says):
        read_page(tmp_path / "page.md")


def test_a_call_that_nobody_runs_is_counted(tmp_path):
    (tmp_path / "page.md").write_text("```\nretainer log x\n```\n\n```sh\nretainer log y | head -1  # so\n```\n")
    page = read_page(tmp_path / "page.md")
    assert page.counted == 2 and [block.calls for block in page.blocks] == [["retainer log y | head -1  # so"]]
