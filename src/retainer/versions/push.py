"""A version on the Hugging Face hub: which of its files are published, and how they get there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retainer.errors import InputError, shortened
from retainer.versions.card import card
from retainer.versions.lineage import (
    CARD_FILE,
    GENERATORS_FOLDER,
    MAX_RECORD_BYTES,
    PARENT_FOLDER,
    RECORD_FILE,
    Lineage,
)
from retainer.versions.own_files import holds, read_own, walk
from retainer.versions.verify import verify_folder

_ANSWERS = {
    401: "the hub does not know the token; log in (hf auth login) or give --token-file FILE",
    403: "the token may not write there; choose another name, or a token with write access",
    404: "the hub has no such place; is the part before the slash your name or that of your organisation?",
    409: "the repository was changed in the meantime; try again",
    429: "the hub wants fewer requests; try again later",
}
"""What the hub means by the numbers of its refusals."""


@dataclass(frozen=True)
class Publication:
    """What is to be published of a version: its files as the record knows them, the record, and the card."""

    folder: Path
    hashes: dict[str, str]
    """The SHA-256 of every file of the version; what is sent must have it."""
    record: bytes
    card: str
    left_out: tuple[str, ...]
    """What lies in the folder and is not published: a stored parent, hidden files, what others put there."""

    @property
    def sizes(self) -> dict[str, int]:
        """The files that are sent, and how many bytes each has."""
        files = {name: (self.folder / name).stat().st_size for name in self.hashes}
        return dict(sorted({**files, RECORD_FILE: len(self.record), CARD_FILE: len(self.card.encode())}.items()))


def publication(folder: Path, with_generators: bool = False) -> Publication:
    """Verify a version, and gather what is to be published of it."""
    found = verify_folder(folder)
    if found.sentences:
        raise InputError(f"{folder} is not as it was saved ({shortened(found.sentences[0], 200)}); nothing was sent")
    lineage, files = Lineage.read(folder), walk(folder)[0]
    hashes = dict(lineage.checked_files)
    if not with_generators and hashes != lineage.wordless_files:
        raise InputError(
            f"{folder} holds language models of its training sentences, with their words ({GENERATORS_FOLDER}/); if "
            "these may be published, say --with-generators"
        )
    text = read_own(folder, CARD_FILE, MAX_RECORD_BYTES) if holds(folder, CARD_FILE) else b""
    record = read_own(folder, RECORD_FILE, MAX_RECORD_BYTES)
    sent = {*hashes, RECORD_FILE, CARD_FILE}
    left_out = tuple(_shortened_parent(name for name in files if name not in sent))
    return Publication(folder, hashes, record, text.decode("utf-8", "replace") or card(lineage, folder.name), left_out)


def _shortened_parent(names: Iterator[str]) -> list[str]:
    """Name a stored parent as a whole."""
    return list(dict.fromkeys(f"{PARENT_FOLDER}/" if name.startswith(f"{PARENT_FOLDER}/") else name for name in names))


def upload(found: Publication, name: str, token: str | None, private: bool) -> str:
    """Publish a version in one commit, which is there as a whole or not at all; return its address."""
    from huggingface_hub import CommitOperationAdd, HfApi, constants

    constants.HF_HUB_DISABLE_XET = True  # plain HTTP, whose hashes can be compared with those of the record
    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"), token=token, library_name="retainer")
    with _refusals(name):
        additions = [
            CommitOperationAdd(path_in_repo=file, path_or_fileobj=str(found.folder / file)) for file in found.hashes
        ]
        _require_unchanged(found, additions)
        texts = {RECORD_FILE: found.record, CARD_FILE: found.card.encode()}
        additions += [CommitOperationAdd(path_in_repo=file, path_or_fileobj=data) for file, data in texts.items()]
        api.create_repo(name, private=True if private else None, exist_ok=True)
        if private and not api.repo_info(name).private:
            raise InputError(f"{name} is there already and public, so nothing was sent; choose another name")
        done = api.create_commit(name, additions, commit_message=f"Version {found.folder.name}, by retainer")
    return str(done.commit_url)


def require_hub_name(name: str) -> None:
    """Refuse what no repository of the hub can be called."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils._validators import validate_repo_id

    try:
        validate_repo_id(name)
    except HFValidationError:
        expected = "expected NAME or OWNER/NAME, such as me/my-model"
        raise InputError(f"{shortened(name)!r} is not a name on the hub; {expected}") from None


def _require_unchanged(found: Publication, additions: list[Any]) -> None:
    """Refuse a file that is no longer the one that was verified."""
    for addition in additions:
        if addition.upload_info.sha256.hex() != found.hashes[addition.path_in_repo]:
            raise InputError(f"{found.folder / addition.path_in_repo} was changed in the meantime; nothing was sent")


@contextmanager
def _refusals(name: str) -> Iterator[None]:
    """Turn what the hub or the way to it refuses into one sentence."""
    from httpx2 import HTTPError
    from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError, OfflineModeIsEnabled

    try:
        yield
    except InputError:
        raise
    except LocalTokenNotFoundError as error:
        raise InputError(f"{name} was not published: {_ANSWERS[401]}") from error
    except OfflineModeIsEnabled as error:
        raise InputError(f"{name} was not published: HF_HUB_OFFLINE forbids it; unset it") from error
    except (HTTPError, OSError, ValueError, RuntimeError) as error:
        cause = error if isinstance(error, HfHubHTTPError) else error.__cause__
        if isinstance(cause, HfHubHTTPError):
            raise InputError(f"{name} was not published: {_answer(cause)}") from error
        what = shortened(" ".join(str(error).split()), 200) or type(error).__name__
        raise InputError(f"{name} was not published: the hub could not be reached ({what}); try again") from error


def _answer(error: Any) -> str:
    status = error.response.status_code if error.response is not None else 0
    said = shortened(" ".join(str(error.server_message or "").split()), 200)
    usual = "the hub has trouble of its own; try again later" if status >= 500 else "the hub refused it"
    return f"{_ANSWERS.get(status, usual)} (status {status}{f': {said}' if said else ''})"
