"""No garbage is collected while the tests are loaded, nor later among what was loaded: imported first by conftest.py.

Everything that is loaded stays, a million objects with torch and transformers; looking through them again and again
took an eighth of the time of the tests that train.
"""

import gc

gc.disable()


def finished():
    """Collect garbage from here on, among what is made from here on."""
    gc.enable()
    gc.freeze()
