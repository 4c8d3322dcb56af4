"""Build the documentation for tests."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs/site"


def build_site(folder: Path) -> Path:
    done = _python(str(SITE / "build.py"), str(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def build_pages(source: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Build pages of a test with the settings of the documentation."""
    code = "import sys; from pathlib import Path; from build import run_sphinx"
    return _python("-c", f"{code}; sys.exit(run_sphinx(*map(Path, sys.argv[1:])))", source, folder)


def _python(*words: str | Path) -> subprocess.CompletedProcess[str]:
    folders = [str(SITE), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
