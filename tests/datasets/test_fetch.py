import bz2
import dataclasses
import hashlib
import threading
import warnings
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gvibench.datasets import fetch
from gvibench.datasets.fetch import raw_file
from gvibench.errors import UserError
from gvibench.spec.catalogue import File

TEXT = b"1 1:0.5 2:1\n2 2:3\n2 1:1\n"
OTHER = b"2 2:3\n1 1:0.5 2:1\n2 1:1\n"  # the same rows in another order
FOREIGN = b"1 1:1\n2 1:1\n"


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


STRICT = File("toy", "https://example.invalid/toy", sha(TEXT))
LENIENT = File(
    "toy.bz2",
    "https://example.invalid/toy.bz2",
    sha(bz2.compress(TEXT)),
    sha(TEXT),
    confirmed=False,
    rows=3,
    columns=2,
    label_counts={1: 1, 2: 2},
    nonzeros=4,
)
UNKNOWN = dataclasses.replace(LENIENT, sha256=None, content_sha256=None)


class Mirror:
    """A local server that gives the same answer to all requests and counts them."""

    def __init__(self) -> None:
        self.content = TEXT
        self.status = 200
        self.failures = 0
        self.declared_length: int | None = None
        self.requests: list[str] = []
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                mirror.requests.append(self.path)
                if len(mirror.requests) <= mirror.failures:
                    self.send_error(503)
                    return
                self.send_response(mirror.status)
                length = mirror.declared_length or len(mirror.content)
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(mirror.content)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/data"


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    mirror = Mirror()
    thread = threading.Thread(target=mirror.server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("GVIBENCH_DATA", mirror.url + "/")
    monkeypatch.setattr(fetch, "PAUSE_SECONDS", 0.0)
    yield mirror
    mirror.server.shutdown()
    thread.join()
    mirror.server.server_close()


@pytest.fixture
def raw(own_cache: Path) -> Path:
    return own_cache / "raw"


def files_in(raw: Path) -> list[str]:
    return sorted(path.name for path in raw.iterdir())


def test_a_file_is_downloaded_once(mirror: Mirror, raw: Path) -> None:
    path = raw_file(STRICT)
    assert path == raw / "toy"
    assert path.read_bytes() == TEXT
    assert raw_file(STRICT) == path
    assert mirror.requests == ["/data/toy"]
    assert files_in(raw) == ["toy"]


def test_a_file_with_another_hash_is_an_error_and_not_cached(mirror: Mirror, raw: Path) -> None:
    mirror.content = FOREIGN
    with pytest.raises(
        UserError, match=r"/data/toy is not the toy of the catalogue: its SHA-256"
    ) as caught:
        raw_file(STRICT)
    assert sha(FOREIGN) in str(caught.value)
    assert sha(TEXT) in str(caught.value)
    assert files_in(raw) == []


def test_a_wrong_download_keeps_the_old_file(mirror: Mirror, raw: Path) -> None:
    raw.mkdir(parents=True)
    (raw / "toy").write_bytes(b"old")
    mirror.content = FOREIGN
    with (
        pytest.warns(UserWarning, match="downloading it again"),
        pytest.raises(UserError, match=sha(FOREIGN)),
    ):
        raw_file(STRICT)
    assert (raw / "toy").read_bytes() == b"old"
    assert files_in(raw) == ["toy"]


def test_a_damaged_cached_file_is_replaced(mirror: Mirror, raw: Path) -> None:
    raw.mkdir(parents=True)
    (raw / "toy").write_bytes(b"old")
    with pytest.warns(UserWarning, match="downloading it again"):
        assert raw_file(STRICT).read_bytes() == TEXT


def test_a_missing_file_is_requested_once(mirror: Mirror, raw: Path) -> None:
    mirror.status = 404
    with pytest.raises(UserError, match=r"could not download .*/data/toy: .*404.*GVIBENCH_DATA"):
        raw_file(STRICT)
    assert len(mirror.requests) == 1
    assert files_in(raw) == []


def test_the_message_mentions_a_web_page(mirror: Mirror, raw: Path) -> None:
    mirror.content = b"\n<!DOCTYPE html><html>Please log in</html>"
    for file in (STRICT, LENIENT, UNKNOWN):
        with pytest.raises(UserError, match="the server sent a web page"):
            raw_file(file)
    assert files_in(raw) == []


def test_a_connection_that_is_cut_off_is_retried_and_then_an_error(
    mirror: Mirror, raw: Path
) -> None:
    mirror.declared_length = 1000
    with pytest.raises(UserError, match=r"could not download .*IncompleteRead") as caught:
        raw_file(STRICT)
    assert "\n" not in str(caught.value)
    assert len(mirror.requests) == fetch.ATTEMPTS
    assert files_in(raw) == []


def test_a_temporary_failure_is_retried(mirror: Mirror) -> None:
    mirror.failures = 2
    assert raw_file(STRICT).read_bytes() == TEXT
    assert len(mirror.requests) == 3


def test_an_unreachable_server_is_an_error(mirror: Mirror, monkeypatch, raw: Path) -> None:
    monkeypatch.setenv("GVIBENCH_DATA", "http://127.0.0.1:9/")
    with pytest.raises(UserError, match=r"could not download http://127.0.0.1:9/toy: .*refused"):
        raw_file(STRICT)


def test_a_terminal_shows_a_progress_bar_and_a_log_does_not(mirror, monkeypatch, capsys) -> None:
    raw_file(STRICT)
    assert capsys.readouterr().err == ""
    raw_file(STRICT).unlink()
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    raw_file(STRICT)
    assert "100%" in capsys.readouterr().err


def test_the_same_content_in_another_container_is_accepted(mirror: Mirror) -> None:
    mirror.content = bz2.compress(TEXT, compresslevel=1)
    assert sha(mirror.content) != LENIENT.sha256
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        raw_file(LENIENT)


def test_an_unconfirmed_file_with_the_same_counts_is_used_with_a_warning(mirror: Mirror) -> None:
    mirror.content = bz2.compress(OTHER)
    with pytest.warns(UserWarning, match="labels and non-zeros agree") as caught:
        raw_file(LENIENT)
    assert sha(OTHER) in str(caught[0].message)
    assert sha(TEXT) in str(caught[0].message)


def test_a_confirmed_archive_that_is_cut_off_names_both_hashes(mirror: Mirror) -> None:
    mirror.content = bz2.compress(TEXT)[:-5]
    expected = f"its SHA-256 is {sha(mirror.content)}, not {LENIENT.sha256}"
    with pytest.raises(UserError, match=expected):
        raw_file(dataclasses.replace(LENIENT, confirmed=True))


def test_an_unconfirmed_file_with_other_counts_is_an_error(mirror: Mirror, raw: Path) -> None:
    mirror.content = bz2.compress(FOREIGN)
    with pytest.raises(UserError, match=r"its rows: 2, not 3; its columns: 1, not 2; its labels"):
        raw_file(LENIENT)
    mirror.content = bz2.compress(TEXT)[:-5]
    with pytest.raises(UserError, match=r"as svmlight: Compressed file ended") as caught:
        raw_file(LENIENT)
    assert sha(mirror.content) in str(caught.value)
    assert str(LENIENT.sha256) in str(caught.value)
    assert files_in(raw) == []


def test_a_file_of_unknown_hash_is_checked_by_its_counts(mirror: Mirror, raw: Path) -> None:
    mirror.content = bz2.compress(FOREIGN)
    with pytest.raises(UserError, match=r"is not the toy.bz2 of the catalogue; its rows: 2"):
        raw_file(UNKNOWN)
    mirror.content = bz2.compress(OTHER)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        raw_file(UNKNOWN)


def test_a_folder_is_used_in_place(tmp_path: Path, monkeypatch, own_cache: Path) -> None:
    (tmp_path / "toy").write_bytes(TEXT)
    monkeypatch.setenv("GVIBENCH_DATA", str(tmp_path))
    assert raw_file(STRICT) == tmp_path / "toy"
    assert not own_cache.exists()


def test_a_missing_or_wrong_file_in_a_folder_is_an_error(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("GVIBENCH_DATA", str(tmp_path))
    with pytest.raises(UserError, match=r"toy does not exist: copy toy to this folder"):
        raw_file(STRICT)
    (tmp_path / "toy").write_bytes(FOREIGN)
    with pytest.raises(UserError, match=f"{sha(FOREIGN)}, not {sha(TEXT)}"):
        raw_file(STRICT)


def test_files_come_from_the_address_in_the_catalogue_by_default(mirror, monkeypatch) -> None:
    monkeypatch.delenv("GVIBENCH_DATA")
    raw_file(dataclasses.replace(STRICT, url=f"{mirror.url}/catalogue/toy"))
    assert mirror.requests == ["/data/catalogue/toy"]
