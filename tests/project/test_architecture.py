"""The shape of the code: imports point one way, functions stay small, nothing heavy is loaded early."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import retainer

SOURCE = Path(__file__).parents[2] / "src" / "retainer"

TOP = ("about", "errors", "plurals", "decimals", "files", "runtime")
"""The files directly in the package, which every room may use; each imports only from those before it."""

ROOMS = (
    "data",
    "metrics",
    "model",
    "methods",
    "versions",
    "workers",
    "comparison",
    "training",
    "bench",
    "report",
    "workbench",
    "serve",
    "cli",
)
"""A room imports only from rooms before it, and from itself."""

DOORS = ("__init__", "__main__")
"""The package's own doors may lead anywhere."""

TABLES = {"data/phrases.py"}
"""Files that hold word lists, not code."""

FILES = sorted(SOURCE.rglob("*.py"))
MODULES = {".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path for path in FILES}


def room(module):
    return module.split(".")[0]


def imports(path):
    """Names of retainer's modules a file imports, wherever in the file, for types or for real."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "retainer":
            inner = node.module.removeprefix("retainer").lstrip(".")
            for alias in node.names:
                whole = f"{inner}.{alias.name}".lstrip(".")
                yield whole if whole in MODULES else inner
        elif isinstance(node, ast.Import):
            yield from (alias.name[9:] for alias in node.names if alias.name.startswith("retainer."))


@pytest.mark.parametrize("name", [name for name in MODULES if name not in DOORS])
def test_imports_point_one_way(name):
    order = (*TOP, *ROOMS)
    for other in imports(MODULES[name]):
        assert order.index(room(other)) <= order.index(room(name)), f"{name} imports {other}, which is further down"


def test_no_module_imports_itself_by_a_detour():
    graph = {name: set(imports(path)) - {name} for name, path in MODULES.items() if name not in DOORS}
    TopologicalSorter(graph).prepare()  # raises with the cycle in its message


def test_every_file_has_its_place():
    assert {room(name) for name in MODULES} - set(DOORS) == {*TOP, *ROOMS}
    assert {name for name in MODULES if "." not in name and MODULES[name].name != "__init__.py"} == {*TOP, "__main__"}
    assert len(list(SOURCE.glob("*.py"))) <= 8


@pytest.mark.parametrize("folder", sorted({path.parent for path in FILES} - {SOURCE}), ids=lambda folder: folder.name)
def test_a_room_says_in_one_line_what_it_is_for(folder):
    said = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
    assert said and "\n" not in said.strip() if folder.parent == SOURCE else said


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_texture(path):
    text = path.read_text()
    if str(path.relative_to(SOURCE)) not in TABLES:
        assert len(text.splitlines()) <= 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            docstring = node.body[0].end_lineno - node.body[0].lineno + 1 if ast.get_docstring(node) else 0
            assert node.end_lineno - node.lineno + 1 - docstring <= 50, f"{node.name} is too long"
            if not node.name.startswith("_"):
                assert ast.get_docstring(node) or any(
                    isinstance(d, ast.Name) and d.id == "overload" for d in node.decorator_list
                ), f"{node.name} says nothing"


def parameters(function):
    """Names of the parameters a caller gives."""
    arguments = function.args
    names = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def is_interface(path, name):
    """Say whether a signature is an interface of the product: a verb, a function of the public API, or a config."""
    return path.parent.name == "verbs" or path.name == "spacy_factory.py" or name in retainer.__all__


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_signature_is_long(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_interface(path, node.name):
            assert len(parameters(node)) <= 6, f"{node.name} takes {len(parameters(node))} parameters"


def defined(path):
    """Public names a module defines."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def test_a_public_name_means_one_thing():
    """Verbs aside, which are called as the user calls them."""
    homes = {}
    for path in FILES:
        for name in set(defined(path)):
            if not name.startswith("_") and path.parent.name != "verbs":
                homes.setdefault(name, []).append(str(path.relative_to(SOURCE)))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_light_things_load_no_torch():
    code = (
        "import sys, retainer.cli.main, retainer.methods, retainer.training.recipe, retainer.data.generated\n"
        "import retainer.report.bench.advice, retainer.report.draw.charts\n"
        "import retainer.cli.verbs.learn, retainer.cli.verbs.demo, retainer.cli.verbs.predict\n"
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
