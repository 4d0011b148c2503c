"""`python -m retainer` is `retainer`."""

import sys

from retainer.cli.main import main

sys.exit(main())
