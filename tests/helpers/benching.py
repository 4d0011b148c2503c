"""A workbench at an address of this machine, whose jobs teach a tiny encoder."""

import asyncio
import os
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest
from serving import Listening, until

import retainer
from retainer.serve.app import application, busy_app
from retainer.serve.server import Server, bind_socket, socket_url, uvicorn_config
from retainer.serve.settings import LOCAL_HOSTS, Settings
from retainer.serve.workbench.opening import served_project

TOKEN = "a-token-of-sixteen-characters"


class BenchServer(Listening):
    """What `retainer serve --workbench` runs, in a thread of this process; its jobs have processes of their own."""

    def __init__(self, bench, settings):
        self.bench, self.project = bench, bench.project
        self.socket = bind_socket("127.0.0.1", 0)
        self.address, self.port = socket_url(self.socket), self.socket.getsockname()[1]
        app = application(bench.registry, settings, print, bench)
        self.server = Server(uvicorn_config(app, busy_app(bench.registry), settings), bench.registry, print)
        self.thread = Thread(target=lambda: asyncio.run(self.serve()), daemon=True)
        self.thread.start()
        until(lambda: self.server.started)

    async def serve(self):
        jobs = asyncio.create_task(self.bench.runner.run())
        await self.server.serve(sockets=[self.socket])
        jobs.cancel()
        await asyncio.gather(jobs, return_exceptions=True)

    def stop(self):
        """End it, and the job that runs."""
        self.server.should_exit = self.server.force_exit = True
        self.thread.join(20)
        self.socket.close()
        self.bench.registry.close(seconds=5)


@contextmanager
def workbench(folder, encoder, *, token="", **models):
    """Serve a project; what is built in is a tiny encoder."""
    paths = [str(Path(__file__).parent), str(Path(retainer.__file__).parents[1])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        patch.setenv("TINY_ENCODER", str(encoder))
        patch.setattr("retainer.serve.workbench.job_runner.MODULE", "tiny_teach")
        names = {name: str(path) for name, path in models.items()}
        with served_project(str(folder), names, print, device="cpu") as bench:
            running = BenchServer(bench, Settings(token=token, hosts=LOCAL_HOSTS))
            try:
                yield running
            finally:
                running.stop()
