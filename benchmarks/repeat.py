"""Learn the same two tasks several times with one seed and compare the weights bit for bit.

    python benchmarks/repeat.py [DEVICE]

Twice in the usual way, and on a GPU once more with steps that are not recorded: recording must change nothing.
"""

import json
import sys
import time

from retainer.corpora.generated import generate  # isort: skip (retainer settles the threads before torch starts any)
import torch
from machine import machine

from retainer.learning import learn
from retainer.recipe import Recipe
from retainer.runtime import pick_device
from retainer.tasks import hide

device = pick_device(sys.argv[1] if len(sys.argv) > 1 else "auto")
types = ["artist", "city"]
artist, city = (hide(generate(600, seed=seed, types=types), [type_]) for seed, type_ in ((1, "artist"), (2, "city")))
WAYS = {"first": Recipe(epochs=3), "again": Recipe(epochs=3), "not recorded": Recipe(epochs=3, capture=False)}
weights, rows = {}, []
for way, recipe in WAYS.items():
    began = time.perf_counter()
    base = learn(artist, "builtin", recipe=recipe, seed=3, device=str(device))
    weights[way] = learn(city, base, recipe=recipe, seed=3, device=str(device)).tagger.state_dict()
    differ = [name for name in weights[way] if not torch.equal(weights[way][name], weights["first"][name])]
    rows.append({"way": way, "seconds": time.perf_counter() - began, "same": not differ, "differ": differ[:3]})
print(json.dumps({"machine": machine(), "device": str(device), "ways": rows}, indent=1))
