"""`python -m retainer` is `retainer`."""

import sys

from retainer.cli import main

sys.exit(main())
