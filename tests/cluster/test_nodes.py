"""What a node of a Ray cluster refuses, and what no node has room for; the node is this process, without a cluster."""

import contextlib
from types import SimpleNamespace

import pytest

from retainer.about import __version__
from retainer.errors import InputError
from retainer.workers.tagging.tagger_setup import TaggerSetup

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'retainer[ray]'")

NODES = [
    {"Alive": True, "Resources": {"CPU": 4.0}},
    {"Alive": True, "Resources": {"CPU": 1.0, "GPU": 1.0}},
    {"Alive": False, "Resources": {"CPU": 64.0, "GPU": 8.0}},
]


@pytest.mark.parametrize(
    ("cpus", "gpus", "fits"), [(4, 0, True), (1, 0.25, True), (5, 0, False), (2, 1, False), (1, 2, False)]
)
def test_a_cell_fits_one_node_that_lives(monkeypatch, cpus, gpus, fits):
    """Two nodes together are no room: Ray would wait for ever."""
    from retainer.bench.ray_cells import RayCells

    monkeypatch.setattr(ray, "nodes", lambda: NODES)
    if fits:
        RayCells("a:1", cpus, gpus)._require_room()
        return
    with pytest.raises(InputError, match="no node of the cluster at a:1 has as much"):
        RayCells("a:1", cpus, gpus)._require_room()


def test_a_worker_without_the_model_says_which_node():
    """A folder travels; one that has only a name must be on the node, or within its reach."""
    from retainer.workers.ray_actors import _Actor

    refusal = _Actor().start(TaggerSetup("nobody/nothing", device="cpu"), None, 0, __version__)
    assert isinstance(refusal, InputError) and "\n" not in str(refusal)
    assert f"a worker on the node {ray.util.get_node_ip_address()} cannot use the model: " in str(refusal)


def test_a_node_with_another_retainer():
    from retainer.workers.ray_actors import _Actor

    refusal = _Actor().start(TaggerSetup("nobody/nothing"), None, 0, "0.0.1")
    assert str(refusal) == f"a node of the cluster has retainer {__version__}, and this machine 0.0.1"


@pytest.mark.parametrize(
    ("resources", "device", "count", "cpus", "gpus"),
    [
        ({"CPU": 8.0, "GPU": 2.0}, "auto", 2, 0, 1),
        ({"CPU": 8.0, "GPU": 2.0}, "cpu", 8, 1, 0),
        ({"CPU": 3.0}, "auto", 3, 1, 0),
    ],
)
def test_an_actor_per_gpu_or_else_per_core(resources, device, count, cpus, gpus):
    from retainer.workers.ray_actors import RayActors

    actors = RayActors(TaggerSetup("model", device=device), None, resources)
    assert actors.count == count
    assert actors.options == {"num_cpus": cpus, "num_gpus": gpus, "max_restarts": 0}


def test_a_cell_and_its_first_version_ask_ray_for_their_share(monkeypatch):
    """Ray itself places them by what it is asked for; a cluster without a GPU would not show that it was not asked."""
    from retainer.bench import ray_cells

    asked = []

    class Remote:
        def options(self, **options):
            asked.append(options)
            return self

    monkeypatch.setattr(ray, "remote", lambda function: Remote())
    monkeypatch.setattr(ray, "put", lambda value: None)
    monkeypatch.setattr(ray, "nodes", lambda: NODES)
    monkeypatch.setattr(ray_cells, "splits_of", lambda data, columns: None)
    monkeypatch.setattr(ray_cells, "cluster", lambda address: contextlib.nullcontext({"CPU": 5.0, "GPU": 1.0}))
    assert list(ray_cells.RayCells("a:1", 1, 0.25)(SimpleNamespace(data=None, columns=()), [])) == []
    assert asked == [{"num_cpus": 1, "num_gpus": 0.25, "max_retries": 3}] * 2


def test_a_first_version_is_learned_once_for_all_cells_that_need_it(monkeypatch, tmp_path):
    from retainer.bench.ray_cells import _Sweep

    sweep = object.__new__(_Sweep)
    sweep.firsts, sweep.learning, sweep.encoders, learned = {}, {}, {}, []
    sweep.bench = SimpleNamespace(first_folder=lambda cell: tmp_path / cell.seed)
    sweep.learn = SimpleNamespace(remote=lambda order, splits, encoder: learned.append(order) or f"call {order}")
    sweep._order, sweep.splits, sweep._encoder = lambda cell: cell.seed, None, lambda cell: None
    cells = [SimpleNamespace(seed=seed) for seed in ("one", "two", "one", "one", "two")]
    assert [sweep._first(cell) for cell in cells] == [f"call {cell.seed}" for cell in cells]
    assert learned == ["one", "two"]
    assert sweep.learning == {"call one": tmp_path / "one", "call two": tmp_path / "two"}
