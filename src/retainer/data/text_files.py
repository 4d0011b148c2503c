"""The texts of the files of a corpus: read as UTF-8, and written whole or not at all."""

import contextlib
import gzip
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from pathlib import Path

from retainer.data.foreign_files import refuse_address, refuse_foreign_bytes
from retainer.data.gzip_blocks import GZIP_SUFFIX, unpacked
from retainer.errors import InputError, nearest
from retainer.files import new_folder, refusals_about, require_writable, write_bytes, write_document

_MARK = "\ufeff"


def read_text_file(path: str) -> str:
    """Return the text of a UTF-8 file, without the byte order mark some editors put first."""
    return decode_text(read_bytes_file(path), path)


def read_bytes_file(path: str) -> bytes:
    """Return the bytes of a file, unpacked where it is compressed."""
    with readable(path):
        return b"".join(block for block in unpacked([Path(path).read_bytes()], path) if block)


def decode_text(data: bytes, path: str) -> str:
    """Return the text of the bytes of a UTF-8 file, without the byte order mark some editors put first."""
    return decode_utf8(data.removeprefix(BOM_UTF8), path)


@contextlib.contextmanager
def readable(path: str) -> Iterator[None]:
    """Turn the system's refusal to open or read a file into one sentence."""
    try:
        yield
    except FileNotFoundError as error:
        refuse_address(path)
        raise InputError(f"{path}: there is no such file{_meant(Path(path))}") from error
    except IsADirectoryError as error:
        raise InputError(f"{path}: this is a folder; name a file in it") from error
    except OSError as error:
        raise InputError(f"{path}: the file cannot be read ({error.strerror})") from error


def _meant(path: Path) -> str:
    """Return a hint at the file beside it that a misspelt path probably means, or nothing."""
    with contextlib.suppress(OSError):
        return nearest(path.name, (one.name for one in path.parent.iterdir()))
    return ""


def decode_utf8(data: bytes, path: str, line: int = 1) -> str:
    """Decode bytes of a file that begin on ``line``; what is not UTF-8 is refused with its place."""
    if line == 1:
        refuse_foreign_bytes(data, path)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line += data[: error.start].count(b"\n")
        byte = data[error.start]
        raise InputError(f"{path}:{line}: the byte 0x{byte:02x} is not UTF-8 here; save the file as UTF-8") from error


def write_text_file(content: str | Mapping[str, str], path: str) -> None:
    """Put a file in place, or a new folder with files by their names: whole or not at all.

    A file whose name ends in .gz is compressed, always into the same bytes.
    """
    packed = path.endswith(GZIP_SUFFIX)
    if isinstance(content, str) and not packed:
        return write_document(path, _marked(content))
    with refusals_about(path):
        if isinstance(content, str):
            return write_binary_file(gzip.compress(_marked(content).encode(), mtime=0), path)
        if packed:
            raise InputError(f"{path}: this format is a folder of files, and a folder cannot be compressed")
        write_binary_file({name: _marked(text).encode() for name, text in content.items()}, path)


def write_binary_file(content: bytes | Mapping[str, bytes], path: str) -> None:
    """Put a file of bytes in place, or a new folder with such files: whole or not at all."""
    with refusals_about(path):
        if isinstance(content, bytes):
            return write_bytes(require_writable(path), content)
        _write_folder(content, path)


def _marked(text: str) -> str:
    """Give a text that begins with a byte order mark another one, which reading drops."""
    return _MARK + text if text.startswith(_MARK) else text


def _write_folder(files: Mapping[str, bytes], path: str) -> None:
    with new_folder(path) as scratch:
        for name, data in files.items():
            (scratch / name).write_bytes(data)
