"""`retainer push`."""

from __future__ import annotations

from pathlib import Path

from retainer.cli.output import note, say
from retainer.files import in_words
from retainer.plurals import amount
from retainer.versions.push import publication, require_hub_name, upload


def push(
    model: str,
    name: str,
    /,
    *,
    private: bool = False,
    token_file: str | None = None,
    with_generators: bool = False,
    dry_run: bool = False,
) -> None:
    """Publish a version on the Hugging Face hub: its files, its record and its card, in one commit.

    The version is verified first. A stored parent (learn --keep-parent), hidden files and what is not the version's own
    stay here. No other verb uploads to the hub.

    :param model: a version's folder
    :param name: OWNER/NAME of the repository; made if there is none
    :param private: only you and your organisation can read it; refused if it is there and public
    :param token_file: a file with a token of the hub that may write (default: the one of hf auth login, or HF_TOKEN)
    :param with_generators: also publish the language models of learn_and_review, which hold words of training sentences
    :param dry_run: list the files and print the card; nothing is sent, and nothing is asked of the hub
    """
    from retainer.serve.settings import read_token

    require_hub_name(name)
    token = read_token(token_file) if token_file else None
    found = publication(Path(model), with_generators)
    if found.left_out:
        note(f"not published: {', '.join(found.left_out)}")
    sizes = found.sizes
    if dry_run:
        say("\n".join(f"{in_words(size):>9}  {file}" for file, size in sizes.items()))
        return say(f"\n{found.card}")
    address = upload(found, name, token, private)
    say(f"{amount(len(sizes), 'file')}, {in_words(sum(sizes.values()))} -> {address}")
