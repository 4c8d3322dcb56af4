"""Build the documentation for tests."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def build_site(folder: Path) -> Path:
    words = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder
