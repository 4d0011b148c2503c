"""Looking at the folders of versions again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from retainer.serve.model_paths import FolderState, folder_state


async def watch_folders(
    paths: Mapping[str, str],
    states: Mapping[str, FolderState],
    reload: Callable[[Sequence[str]], Awaitable[object]],
    seconds: float,
) -> None:
    """Reload what differs from its known state; a change must look the same twice, or it may be half written."""
    previous: dict[str, FolderState] = {}
    while True:
        await asyncio.sleep(seconds)
        now = {name: folder_state(path) for name, path in paths.items()}
        changed = [name for name in now if name in states and now[name] != states[name]]
        if settled := [name for name in changed if now[name] == previous.get(name)]:
            await reload(settled)
        previous = now
