"""The public surface: its names are listed before anything is loaded, and every one of them is there."""

import subprocess
import sys

import retainer


def test_dir_lists_the_public_names_and_loads_nothing():
    code = "import sys, retainer; print(*dir(retainer)); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.split() == sorted(retainer.__all__)


def test_every_listed_name_is_there():
    assert all(getattr(retainer, name) is not None for name in dir(retainer))


def test_every_method_of_the_table_has_its_class_among_them():
    classes = {type(method) for method in retainer.METHODS.values()}
    assert {cls.__name__ for cls in classes} <= set(dir(retainer))
    assert all(getattr(retainer, cls.__name__) is cls for cls in classes)
