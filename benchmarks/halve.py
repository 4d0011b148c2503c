"""Write a copy of the built-in encoder's package with half-precision weights, to carry it where bytes are scarce.

    python benchmarks/halve.py FOLDER

Put FOLDER on PYTHONPATH and `builtin` finds the copy there; retainer knows its SHA-256.
"""

import shutil
import sys
from pathlib import Path

from safetensors.torch import load_file, save_file

from retainer.files import sha256
from retainer.model.builtin import PACKAGE, builtin_folder

source = builtin_folder()
target = Path(sys.argv[1]) / PACKAGE / "model"
shutil.copytree(source, target, ignore=shutil.ignore_patterns("model.safetensors", "vocab.txt", "README.md", "1_*"))
(target.parent / "__init__.py").write_text("")
weights = {
    name: tensor.half() if tensor.is_floating_point() else tensor
    for name, tensor in load_file(source / "model.safetensors").items()
}
save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
print(sha256(target / "model.safetensors"))
