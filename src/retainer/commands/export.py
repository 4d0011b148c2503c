"""`retainer export`."""

from __future__ import annotations

from retainer.commands.output import say
from retainer.files import require_free


def export(model: str, /, *, onnx: str, int8: bool = False) -> None:
    """Write a model for use without PyTorch. predict and evaluate take the folder like any model.

    :param model: a version's folder, any token-classification checkpoint, or a hub name
    :param onnx: new folder for model.onnx, the tokenizer and the names of the labels
    :param int8: 8-bit weights in most layers: less than half the size, faster on a CPU, a few entities differ
    """
    require_free(onnx)
    from retainer.version import load

    version = load(model, device="cpu", need_head=True)
    version.export(onnx, int8=int8)
    say(f"exported  {', '.join(version.types)}\nonnx      {onnx}\n\nTry it:   retainer predict {onnx} 'some text'")
