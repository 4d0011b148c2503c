"""What the tests of the server share: each is made once per run, for to load and to start takes longer than to ask."""

import pytest
from serving import Applications, loaded, served


@pytest.fixture(scope="session")
def applications(pair):
    """Applications over both versions, in this process; for tests that only send requests."""
    registry = loaded(pair)
    yield Applications(registry)
    registry.close(seconds=10)


@pytest.fixture(scope="session")
def server(pair):
    """A server over both versions at a port of this machine; for tests that only send requests."""
    with served(pair["v1"], pair["v2"]) as running:
        yield running
