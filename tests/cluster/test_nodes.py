"""What a node of a Ray cluster refuses, and what no node has room for; the node is this process, without a cluster."""

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
