"""The texts of the files of a corpus."""

from collections.abc import Mapping
from pathlib import Path

from retainer.errors import InputError
from retainer.files import new_folder, refusals_about, write_document

_MARK = "\ufeff"


def load(path: str) -> str:
    """Return the text of a UTF-8 file, without the byte order mark some editors put first."""
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file") from error
    except IsADirectoryError as error:
        raise InputError(f"{path}: this is a folder; name a file in it") from error
    except OSError as error:
        raise InputError(f"{path}: the file cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        line, byte = error.object[: error.start].count(b"\n") + 1, error.object[error.start]
        raise InputError(f"{path}:{line}: the byte 0x{byte:02x} is not UTF-8 here; save the file as UTF-8") from error


def save(made: str | Mapping[str, str], path: str) -> None:
    """Put a file in place, or a new folder with files by their names: whole or not at all."""
    if isinstance(made, str):
        return write_document(path, _marked(made))
    with refusals_about(path):
        _save_folder({name: _marked(text).encode() for name, text in made.items()}, path)


def _marked(text: str) -> str:
    """Give a text that begins with a byte order mark one more, for ``load`` to take."""
    return _MARK + text if text.startswith(_MARK) else text


def _save_folder(files: Mapping[str, bytes], path: str) -> None:
    with new_folder(path) as scratch:
        for name, data in files.items():
            (scratch / name).write_bytes(data)
