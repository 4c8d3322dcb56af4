"""Test that hashes of code do not depend on the cache of parsed files."""

import os
import subprocess
import sys

import pytest

from gvibench.spec import code
from gvibench.spec.code_cache import MAX_ENTRIES, CodeCache


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a module that reads a file."""
    folder = tmp_path / "measured"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "one.py").write_text("from measured import two\n\ndef f():\n    return two.x\n")
    text = "from pathlib import Path\nx = Path(__file__).with_name('x.txt').read_text()\n"
    (folder / "two.py").write_text(text)
    (folder / "x.txt").write_text("1")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


@pytest.fixture(autouse=True)
def _bytecode(monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


@pytest.fixture
def hash_now(tmp_path, monkeypatch):
    """Return a function that hashes the package like a new process with the same cache."""

    def hash_now(damage=None):
        path = tmp_path / "cache.json"
        if damage is not None:
            path.write_text(damage)
        cache, parsed = CodeCache(path), []
        parse = code._parse
        with monkeypatch.context() as patch:
            patch.setattr(code, "_cache", cache)
            patch.setattr(code, "_parse", lambda *given: parsed.append(given) or parse(*given))
            code._part.cache_clear()
            code._hash_closure.cache_clear()
            found = code.hash_code(["measured.one"])
        code._part.cache_clear()
        code._hash_closure.cache_clear()
        if parsed:
            cache.save()
        return found, len(parsed)

    return hash_now


def test_a_second_process_parses_only_what_has_changed(package, hash_now):
    first, parsed = hash_now()
    assert parsed >= 2
    assert hash_now() == (first, 0)
    (package / "one.py").write_text(
        (package / "one.py").read_text().replace("two.x", "two.x + '2'")
    )
    second, parsed = hash_now()
    assert (second != first, parsed) == (True, 1)
    (package / "x.txt").write_text("3")  # read by a module that has not changed
    third, parsed = hash_now()
    assert (third not in {first, second}, parsed) == (True, 0)


@pytest.mark.parametrize("damage", ["", "[]", "{", "null"])
def test_a_damaged_cache_is_ignored(package, hash_now, damage):
    first, parsed = hash_now()
    assert hash_now(damage) == (first, parsed)
    assert hash_now() == (first, 0)


def test_a_cache_that_cannot_be_written_is_not_used(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    cache = CodeCache(tmp_path / "file/cache.json")
    cache.put("key", "value")
    cache.save()
    assert CodeCache(tmp_path / "file/cache.json").get("key") is None


def test_a_large_cache_starts_again(tmp_path):
    cache = CodeCache(tmp_path / "cache.json")
    for number in range(MAX_ENTRIES + 1):
        cache.put(str(number), number)
    cache.save()
    assert CodeCache(tmp_path / "cache.json").get("1") is None


def test_the_cache_of_the_package_is_written_at_exit(tmp_path):
    code_ = "from gvibench.spec.code import hash_code; print(hash_code(['gvibench.solvers.vn']))"
    env = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    first, second = (
        subprocess.run([sys.executable, "-c", code_], env=env, check=True, capture_output=True)
        for _ in range(2)
    )
    assert first.stdout == second.stdout
    assert len(list(tmp_path.rglob("code_cache.json"))) == 1
