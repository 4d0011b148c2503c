"""The shape of the code: imports point one way, functions stay small, nothing heavy is loaded early."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "retainer"

ORDER = """
about errors amounts files words spans generator corpora tasks checks outputs quirks methods rare recipe preset runtime
sharing builtin pieces encode truth heads model onnx metrics predict calibration thresholds significance lineage chain
card delta keep integrity rollback version retype difference balance progress lesson vocabulary attention precision
descent capture checkpoint training review job replay learning preview guesses sequence cells unfinished bench report
serve commands arguments cli
""".split()
"""A module imports only from modules named before it (a package counts as one)."""

TABLES = {"corpora/phrases.py"}
"""Files that hold data, not code."""

FILES = sorted(SOURCE.rglob("*.py"))


def part(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(tree):
    """Names of retainer's modules a file imports, wherever in the file, for types or for real."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "retainer":
            inner = node.module.split(".")[1:]
            yield from [inner[0]] if inner else [alias.name for alias in node.names]


DOORS = ("__init__", "__main__")
"""The package's own doors may lead anywhere."""


@pytest.mark.parametrize(
    "path", [path for path in FILES if part(path) not in DOORS], ids=lambda path: str(path.relative_to(SOURCE))
)
def test_imports_point_one_way(path):
    here = ORDER.index(part(path))
    for name in imports(ast.parse(path.read_text())):
        assert ORDER.index(name) <= here, f"{path.name} imports {name}, which comes after {part(path)}"
        assert name != part(path) or path.parent != SOURCE


def test_every_module_has_its_place():
    assert {part(path) for path in FILES} - set(DOORS) == set(ORDER)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_texture(path):
    text = path.read_text()
    if str(path.relative_to(SOURCE)) not in TABLES:
        assert len(text.splitlines()) <= 320
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            docstring = node.body[0].end_lineno - node.body[0].lineno + 1 if ast.get_docstring(node) else 0
            assert node.end_lineno - node.lineno + 1 - docstring <= 50, f"{node.name} is too long"
            if not node.name.startswith("_"):
                assert ast.get_docstring(node) or any(
                    isinstance(d, ast.Name) and d.id == "overload" for d in node.decorator_list
                ), f"{node.name} says nothing"


def test_light_things_load_no_torch():
    code = (
        "import sys, retainer.cli, retainer.methods, retainer.recipe, retainer.corpora.generated, retainer.report\n"
        "import retainer.commands.learn, retainer.commands.demo, retainer.commands.predict\n"
        "sys.exit(any(name in sys.modules for name in ('torch', 'transformers')))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_every_public_name_can_be_had():
    import retainer

    for name in retainer.__all__:
        assert getattr(retainer, name) is not None
    with pytest.raises(AttributeError):
        _ = retainer.nonsense


def test_no_pickle_anywhere():
    for path in FILES:
        text = path.read_text()
        assert "torch.save" not in text and "torch.load" not in text and "import pickle" not in text
        assert "trust_remote_code" not in text
