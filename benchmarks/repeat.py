"""Learn the same task twice with one seed and say whether the weights are the same, bit for bit, and what it cost.

python benchmarks/repeat.py [DEVICE]
"""

import json
import sys
import time
import warnings

from retainer.corpora.generated import generate  # isort: skip (retainer settles the threads before torch starts any)
import torch

from retainer.learning import learn
from retainer.recipe import Recipe
from retainer.runtime import pick_device, versions
from retainer.tasks import hide

device = pick_device(sys.argv[1] if len(sys.argv) > 1 else "auto")
types = ["artist", "city"]
artist, city = (hide(generate(600, seed=seed, types=types), [type_]) for seed, type_ in ((1, "artist"), (2, "city")))
runs, seconds, heard = [], [], set()
for _ in range(2):
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        base = learn(artist, "builtin", recipe=Recipe(epochs=2), seed=3, device=str(device))
        runs.append(learn(city, base, recipe=Recipe(epochs=2), seed=3, device=str(device)).tagger.state_dict())
    heard |= {str(w.message).splitlines()[0][:160] for w in caught if "determinis" in str(w.message)}
    seconds.append(round(time.perf_counter() - began, 1))
differ = [name for name in runs[0] if not torch.equal(runs[0][name], runs[1][name])]
name = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
print(
    json.dumps(
        {
            "device": name,
            "same": not differ,
            "differ": differ[:3],
            "seconds": seconds,
            "warned": sorted(heard),
            "versions": versions(),
        },
        indent=1,
    )
)
