"""How many examples a property is tried on; RETAINER_TESTS says whether somebody waits."""

import os

MODE = os.environ.get("RETAINER_TESTS", "")
"""Empty, ``quick`` (as `make quick` says) or ``thorough`` (as .ci/run says)."""


def examples(number, *, thorough=1):
    """Return so many of them; a quarter for `make quick`, and so many times as many where tests are thorough."""
    return max(10, number // 4) if MODE == "quick" else number * (thorough if MODE == "thorough" else 1)
