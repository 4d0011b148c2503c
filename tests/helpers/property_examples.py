"""How many examples a property is tried on."""

import os

THOROUGH = os.environ.get("RETAINER_TESTS") == "thorough"
"""Set as .ci/run does, and properties are tried on five times as many examples."""


def examples(number):
    """The number for somebody who waits, or five times that."""
    return 5 * number if THOROUGH else number
