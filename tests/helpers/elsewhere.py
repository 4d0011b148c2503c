"""transformers' pipeline in a process that never imports retainer: what other people find with a saved folder."""

import json
import subprocess
import sys

TAG = """
import json, sys
from transformers import pipeline
for line in sys.stdin:
    folder, texts, strategy = json.loads(line)
    tagger = pipeline("token-classification", model=folder, aggregation_strategy=strategy, device="cpu")
    assert not any(name.split(".")[0] == "retainer" for name in sys.modules)
    found = [tagger(text) if text else [] for text in texts]
    print(json.dumps([[{**one, "score": float(one["score"])} for one in entities] for entities in found]), flush=True)
"""


class Pipeline:
    """One process for all tests: it takes seconds to start."""

    def __init__(self):
        command = [sys.executable, "-c", TAG]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def __call__(self, folder, texts, strategy="first"):
        """Tag texts with what lies in a folder, as a list of entities per text."""
        self.process.stdin.write(json.dumps([str(folder), texts, strategy]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, "the process with the pipeline ended"
        return json.loads(answer)

    def close(self):
        """Let the process end."""
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
