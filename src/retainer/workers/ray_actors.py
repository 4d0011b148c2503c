"""Workers that are actors of a Ray cluster, which Ray places on its nodes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import ray

from retainer.about import __version__
from retainer.errors import InputError
from retainer.workers.pool import Answer, Died, Done, Ready, Work
from retainer.workers.ray_cluster import Files, unpacked_folder


class RayActors:
    """An actor per GPU of the cluster, or else per core. Files of the model are sent once to every node."""

    def __init__(self, setup: Any, files: Files | None, resources: Mapping[str, float]) -> None:
        gpus = 0 if setup.device == "cpu" else int(resources.get("GPU", 0))
        self.count = gpus or int(resources["CPU"])
        self.setup, self.files = setup, None if files is None else ray.put(files)
        self.options = {"num_cpus": 0 if gpus else 1, "num_gpus": 1 if gpus else 0, "max_restarts": 0}
        self.awaited = dict[Any, Any]()

    def start(self, number: int) -> Any:
        """Ask for an actor; it starts when a node has room for it."""
        actor = ray.remote(_Actor).options(**self.options).remote()
        self.awaited[actor] = actor.start.remote(self.setup, self.files, number, __version__)
        return actor

    def send(self, worker: Any, payload: Any) -> None:
        """Call an actor."""
        self.awaited[worker] = worker.work.remote(payload)

    def wait(self, workers: Sequence[Any]) -> list[tuple[Any, Answer]]:
        """Wait for the first call that ends, by a value or by a death."""
        of_call = {self.awaited[worker]: worker for worker in workers}
        done, _ = ray.wait(list(of_call), num_returns=1)
        return [(of_call[call], self._heard(of_call[call], call)) for call in done]

    def _heard(self, worker: Any, call: Any) -> Answer:
        del self.awaited[worker]
        try:
            answer: Answer = ray.get(call)
            return answer
        except ray.exceptions.RayTaskError:
            raise
        except ray.exceptions.RayError as error:
            ray.kill(worker)
            return Died(_cause(error))

    def close(self) -> None:
        """End all actors that have something to do; the others end with their handles."""
        for worker in list(self.awaited):
            ray.kill(worker)
        self.awaited.clear()


def _cause(error: Exception) -> str:
    """Say in one line why an actor is gone; Ray writes a page."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "rror" in line.split(":")[0] or "died" in line or "dead" in line]
    return (telling or lines or [type(error).__name__])[-1][:300]


class _Actor:
    """What runs on the node. Refusals are values, since Ray wraps what is raised."""

    def start(self, setup: Any, files: Files | None, number: int, wanted: str) -> Answer:
        """Load the model: from the files that came along, or by its name where none did."""
        self.does: Work
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        if wanted != __version__:
            return InputError(f"a node of the cluster has retainer {__version__}, and this machine {wanted}")
        try:
            if files is None:
                self.does, remarks = setup.start(number)
            else:
                with unpacked_folder(files) as folder:
                    self.does, remarks = replace(setup, model=str(folder)).start(number)
        except InputError as error:
            return InputError(f"a worker on the node {ray.util.get_node_ip_address()} cannot use the model: {error}")
        return Ready(remarks)

    def work(self, payload: Any) -> Answer:
        """Do what a payload asks for."""
        try:
            return Done(self.does(payload))
        except InputError as error:
            return error
