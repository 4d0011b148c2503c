"""The text of a corpus file."""

from pathlib import Path

from retainer.errors import InputError
from retainer.files import write_text

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


def save(text: str, path: str) -> None:
    """Put the file in place whole; a text that begins with a byte order mark gets one more, for ``load`` to take."""
    target = Path(path)
    try:
        if target.exists() and not target.is_file():
            raise InputError(f"{path}: this is no plain file, so it cannot be replaced; name another")
        write_text(target, _MARK + text if text.startswith(_MARK) else text)
    except OSError as error:
        raise InputError(f"{path}: the file cannot be written ({error.strerror})") from error
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise InputError(f"{path}: {half!r} is half a surrogate pair, no character; remove it") from error
