"""Test downloads from faulty servers, in addition to `tests/datasets/test_fetch.py`."""

import hashlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gvibench.datasets import fetch
from gvibench.datasets.fetch import raw_file
from gvibench.errors import UserError
from gvibench.spec.catalogue import File

TEXT = b"1 1:0.5 2:1\n2 2:3\n2 1:1\n" * 1000
FILE = File("toy", "https://example.invalid/toy", hashlib.sha256(TEXT).hexdigest())

Answer = Callable[[BaseHTTPRequestHandler, int], None]
"""Function that answers the n-th request."""


def complete(request: BaseHTTPRequestHandler, number: int = 0) -> None:
    request.send_response(200)
    request.send_header("Content-Length", str(len(TEXT)))
    request.end_headers()
    request.wfile.write(TEXT)


def cut_off(request: BaseHTTPRequestHandler, number: int) -> None:
    request.send_response(200)
    request.send_header("Content-Length", str(len(TEXT)))
    request.end_headers()
    request.wfile.write(TEXT[:5000])


def cut_off_once(request: BaseHTTPRequestHandler, number: int) -> None:
    (cut_off if number == 1 else complete)(request, number)


def stall(request: BaseHTTPRequestHandler, number: int) -> None:
    request.send_response(200)
    request.send_header("Content-Length", str(len(TEXT)))
    request.end_headers()
    request.wfile.write(TEXT[:100])
    request.wfile.flush()
    time.sleep(1.0)


def stall_once(request: BaseHTTPRequestHandler, number: int) -> None:
    (stall if number == 1 else complete)(request, number)


def reset(request: BaseHTTPRequestHandler, number: int) -> None:
    linger = b"\x01\0\0\0\0\0\0\0"  # close with a reset, without waiting
    request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    request.connection.close()


def page(request: BaseHTTPRequestHandler, number: int) -> None:
    request.send_response(200)
    request.send_header("Content-Type", "text/html")
    request.end_headers()
    request.wfile.write(b"<html><body>Moved. <a href='/elsewhere'>here</a></body></html>")


def wrong_bytes(request: BaseHTTPRequestHandler, number: int) -> None:
    request.send_response(200)
    request.end_headers()
    request.wfile.write(TEXT.replace(b"0.5", b"0.6"))


def nothing(request: BaseHTTPRequestHandler, number: int) -> None:
    request.send_response(200)
    request.send_header("Content-Length", "0")
    request.end_headers()


def redirect(request: BaseHTTPRequestHandler, number: int) -> None:
    if request.path.startswith("/moved"):
        return complete(request)
    request.send_response(302)
    request.send_header("Location", "/moved/toy")
    request.end_headers()
    return None


def redirect_forever(request: BaseHTTPRequestHandler, number: int) -> None:
    request.send_response(302)
    request.send_header("Location", "/toy")
    request.end_headers()


def redirect_to_a_file(request: BaseHTTPRequestHandler, number: int) -> None:
    request.send_response(302)
    request.send_header("Location", "file:///etc/passwd")
    request.end_headers()


def nonsense(request: BaseHTTPRequestHandler, number: int) -> None:
    request.wfile.write(b"\0\xff this is not HTTP\r\n\r\n")


@pytest.fixture
def serve(tmp_path: Path, monkeypatch) -> Iterator[Callable[[Answer], list[str]]]:
    monkeypatch.setenv("GVIBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetch, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(fetch, "TIMEOUT_SECONDS", 0.4)
    servers = []

    def start(answer: Answer) -> list[str]:
        requests: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                requests.append(self.path)
                answer(self, len(requests))

            def log_message(self, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, request, address) -> None:
                pass  # the client closed the connection, as expected

        server = Server(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        servers.append((server, thread))
        monkeypatch.setenv("GVIBENCH_DATA", f"http://127.0.0.1:{server.server_port}/")
        return requests

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("answer", [complete, cut_off_once, stall_once, redirect])
def test_download_succeeds_after_retry_or_redirect(serve, tmp_path, answer):
    serve(answer)
    assert raw_file(FILE).read_bytes() == TEXT
    assert [path.name for path in (tmp_path / "cache/raw").iterdir()] == ["toy"]


REJECTED = {
    cut_off: ("could not download", 3),
    stall: ("could not download .*timed out", 3),
    reset: ("could not download", 3),
    page: ("the server sent a web page", 1),
    wrong_bytes: ("its SHA-256 is", 1),
    nothing: ("its SHA-256 is", 1),
    redirect_forever: ("could not download .*redirects", 3 * 31),
    redirect_to_a_file: ("could not download", 3),
    nonsense: ("could not download", 3),
}


@pytest.mark.parametrize("answer", REJECTED, ids=lambda answer: answer.__name__)
def test_faulty_download_is_rejected_and_not_cached(serve, tmp_path, answer):
    message, max_requests = REJECTED[answer]
    requests = serve(answer)
    with pytest.raises(UserError, match=message) as caught:
        raw_file(FILE)
    assert str(caught.value).isprintable()
    assert len(requests) <= max_requests
    assert list((tmp_path / "cache/raw").iterdir()) == []


def test_cached_file_survives_faulty_server(serve, tmp_path):
    serve(complete)
    raw_file(FILE)
    serve(wrong_bytes)
    assert raw_file(FILE).read_bytes() == TEXT
