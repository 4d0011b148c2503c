"""One of several processes that learn together, as torchrun starts them; what it learned goes into a file.

``python one_of_several.py PLAN``: the plan names the calls of `learn`, one after the other, and the folder to write to.
With an empty plan, the second process fails alone.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")


def started(plan, folder, size=2):
    """Start the processes, wait for them, and return what each has written; what a status says is not asked."""
    (folder / "plan.json").write_text(json.dumps(plan))
    from torch.distributed import TCPStore

    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # outlives them all, as torchrun's does
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port), "WORLD_SIZE": str(size)}
    place["TORCHELASTIC_USE_AGENT_STORE"] = "True"
    call = [sys.executable, __file__, str(folder)]
    ranks = [{**os.environ, **place, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(size)]
    processes = [subprocess.Popen(call, env=env, stderr=subprocess.PIPE, text=True) for env in ranks]
    said = [process.communicate(timeout=120)[1] for process in processes]
    files = [folder / f"rank-{rank}.json" for rank in range(size)]
    assert all(file.is_file() for file in files), said
    return [json.loads(file.read_text()) for file in files]


def learned(options, ranks, out):
    """Learn as a plan says, and return what must agree."""
    from retainer.methods import method
    from retainer.training.learn import learn_version
    from retainer.training.recipe import Recipe
    from retainer.training.request import LearnRequest, RunOptions

    way, recipe = method(options["method"], options.get("fields")), Recipe(**options["recipe"])
    given = {name: options.get(name) for name in ("dev", "text")}
    request = LearnRequest(options["data"], options["start"], method=way, recipe=recipe, seed=3, device="cpu", **given)
    version = learn_version(request, RunOptions(out=out, ranks=ranks))
    weights = hashlib.sha256()
    for tensor in version.tagger.state_dict().values():
        weights.update(tensor.contiguous().numpy().tobytes())
    record = version.lineage
    history = [{name: epoch[name] for name in ("losses", "dev")} for epoch in record.scores["history"]]
    chosen = {"epoch": record.scores["epoch"], "prior": record.prior, "blend": record.blend}
    return {"history": history, "weights": weights.hexdigest(), **chosen}


def main(folder):
    import torch

    from retainer.errors import InputError, SaidElsewhere
    from retainer.training.process_group import joined

    found, plan = {}, json.loads((folder / "plan.json").read_text())
    try:
        with joined("cpu") as (ranks, device):
            for name, options in plan.items():
                found[name] = learned(options, ranks, folder / name)
            if not plan and not ranks.leads:
                raise InputError("there is no file here")
            ranks.total(torch.ones(1))
    except (InputError, SaidElsewhere) as error:
        found["end"] = [type(error).__name__, str(error)]
    (folder / f"rank-{os.environ['RANK']}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
