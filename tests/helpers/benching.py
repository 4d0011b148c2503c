"""A workbench at an address of this machine, whose jobs teach a tiny encoder."""

import asyncio
import os
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest
from serving import Listening, until

import retainer
from retainer.serve.address import bind_socket, socket_url
from retainer.serve.app import application, busy_app
from retainer.serve.server import Server, uvicorn_config
from retainer.serve.settings import LOCAL_HOSTS, Settings
from retainer.serve.workbench.opening import served_project

TOKEN = "a-token-of-sixteen-characters"


class BenchServer(Listening):
    """What `retainer serve --workbench` runs, in a thread of this process; its jobs have processes of their own."""

    def __init__(self, folder, models, settings):
        self.socket = bind_socket("127.0.0.1", 0)
        self.address, self.port = socket_url(self.socket), self.socket.getsockname()[1]
        self.project = self.server = None
        self.thread = Thread(target=self.run, args=(folder, models, settings), daemon=True)
        self.thread.start()
        until(lambda: self.server is not None and self.server.started)

    def run(self, folder, models, settings):
        """Open the project here: a browser has an event loop of its own in the main thread."""
        with served_project(str(folder), models, print, device="cpu") as bench:
            self.project = bench.project
            app = application(bench.registry, settings, print, bench)
            self.server = Server(uvicorn_config(app, busy_app(bench.registry), settings), bench.registry, print)
            asyncio.run(self.serve(bench.runner))
            bench.registry.close(seconds=5)

    async def serve(self, runner):
        jobs = asyncio.create_task(runner.run())
        await self.server.serve(sockets=[self.socket])
        jobs.cancel()
        await asyncio.gather(jobs, return_exceptions=True)

    def stop(self):
        """End it, and the job that runs."""
        self.server.should_exit = self.server.force_exit = True
        self.thread.join(20)
        self.socket.close()


@contextmanager
def workbench(folder, encoder, *, token="", label_studio=False, **models):
    """Serve a project; what is built in is a tiny encoder."""
    paths = [str(Path(__file__).parent), str(Path(retainer.__file__).parents[1])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        patch.setenv("TINY_ENCODER", str(encoder))
        patch.setattr("retainer.serve.workbench.job_runner.MODULE", "tiny_teach")
        names = {name: str(path) for name, path in models.items()}
        running = BenchServer(folder, names, Settings(token=token, hosts=LOCAL_HOSTS, label_studio=label_studio))
        try:
            yield running
        finally:
            running.stop()
