"""Work for processes that may die over it; it needs no model."""

import os
import signal
from dataclasses import dataclass


@dataclass(frozen=True)
class FragileSetup:
    """Doubles numbers. The number 13 kills its worker every time, 7 only the first time (a file remembers)."""

    folder: str

    def start(self, number):
        return self.work, ["ready"]

    def work(self, payload):
        seen = os.path.join(self.folder, str(payload))
        if payload == 13 or (payload == 7 and not os.path.exists(seen)):
            open(seen, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return 2 * payload
