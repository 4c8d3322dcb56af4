"""Run the `gvibench` command with `python -m gvibench`."""

import sys

from gvibench.cli.main import main

sys.exit(main())
