"""`python -m gvibench` is `gvibench`."""

import sys

from gvibench.cli.main import main

sys.exit(main())
