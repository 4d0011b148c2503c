"""Packages that the extra dev brings: a test of them is left out where somebody has none of them, but never in CI."""

from importlib.util import find_spec

import pytest
from property_examples import MODE


def needs(package):
    """Leave a test out without a package; where the suite is thorough, as in .ci/run, it fails for want of it."""
    missing = find_spec(package) is None and MODE != "thorough"
    return pytest.mark.skipif(missing, reason=f"needs {package}, which the extra dev brings")
