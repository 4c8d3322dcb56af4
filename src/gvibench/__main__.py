"""`python -m gvibench` is `gvibench`."""

import sys

from gvibench.cli import main

sys.exit(main())
