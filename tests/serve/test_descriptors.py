"""Connections and file descriptors: the limit is raised as far as it goes, and never passed."""

import resource

import pytest

from retainer.errors import InputError
from retainer.serve import descriptors
from retainer.serve.descriptors import RESERVED, DescriptorLimit, describe_limits, raise_limit, within_descriptors
from retainer.serve.settings import Limits


@pytest.fixture
def system(monkeypatch):
    """A system with limits of its own, soft and hard."""

    class System:
        limits = (256, 4096)

        def set(self, _, limits):
            if limits[0] > self.limits[1] != resource.RLIM_INFINITY:
                raise ValueError("not allowed to raise maximum limit")
            self.limits = limits

    made = System()
    monkeypatch.setattr(resource, "getrlimit", lambda _: made.limits)
    monkeypatch.setattr(resource, "setrlimit", made.set)
    monkeypatch.setattr(descriptors, "_open_descriptors", lambda: 20)
    return made


@pytest.mark.parametrize(
    ("limits", "allowed", "connections"),
    [
        ((256, 4096), 1024 + RESERVED + 20, 1024),
        ((256, resource.RLIM_INFINITY), 1024 + RESERVED + 20, 1024),
        ((9999, 9999), 9999, 1024),
        ((512, 1024), 1024, 1024 - RESERVED - 20),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), 0, 1024),
    ],
)
def test_the_limit_is_raised_to_what_connections_need(system, limits, allowed, connections):
    system.limits = limits
    found = raise_limit(1024)
    assert found == DescriptorLimit(allowed, 20)
    assert within_descriptors(Limits(), found).connections == connections
    assert within_descriptors(Limits(connections=5), found).connections == 5


def test_a_server_that_could_hardly_take_a_client_does_not_start():
    with pytest.raises(InputError, match="ulimit -n"):
        within_descriptors(Limits(), DescriptorLimit(RESERVED + 30, 20))


def test_the_limits_are_said_in_one_line():
    line = describe_limits(Limits(), DescriptorLimit(1300, 20))
    assert "1024 connections" in line and "1300 file descriptors" in line and "\n" not in line
    assert "descriptors" not in describe_limits(Limits(), DescriptorLimit(0, 20))
