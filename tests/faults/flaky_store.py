"""A store of objects behind a bad line: answers are lost, refused or late, by a seeded list, and never wrong."""

import contextlib
import http.client
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.stores import forget_clients

_HOP = {"connection", "transfer-encoding", "keep-alive"}


@contextlib.contextmanager
def bad_line(seed: int = 1, share: float = 0.25, seconds: float = 0.3) -> Iterator[Counter[str]]:
    """Stand between this process with its children and the store while the block runs; lend a count of what was done.

    Of `share` of all requests one of four things happens: the connection breaks before the store sees it (`lost`) or
    after it was done (`unanswered`), it is refused as too many (`throttled`), or answered late (`late`).
    """
    store = urlsplit(os.environ["AWS_ENDPOINT_URL"])
    done: Counter[str] = Counter()
    dice, lock = random.Random(seed), threading.Lock()

    def fate() -> str:
        with lock:
            drawn = dice.choice(("lost", "unanswered", "throttled", "late")) if dice.random() < share else "fine"
            done[drawn] += 1
            return drawn

    class Line(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass(self) -> None:
            drawn, body = fate(), self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if drawn == "lost":
                self.close_connection = True
                return
            if drawn == "throttled":
                answer = b"<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"
                self._send(503, [("Content-Type", "application/xml")], answer)
                return
            line = http.client.HTTPConnection(store.hostname or "", store.port, timeout=60)
            line.request(self.command, self.path, body, dict(self.headers))
            answered = line.getresponse()
            content = answered.read()
            line.close()
            if drawn == "unanswered":
                self.close_connection = True
                return
            if drawn == "late":
                time.sleep(seconds)
            kept = [(name, value) for name, value in answered.getheaders() if name.lower() not in _HOP]
            self._send(answered.status, kept, content)

        def _send(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
            with contextlib.suppress(ConnectionError):
                self.send_response_only(status)
                for name, value in headers:
                    if name.lower() != "content-length" or self.command == "HEAD":
                        self.send_header(name, value)
                if self.command != "HEAD":
                    self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Line)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        environment.setenv("AWS_MAX_ATTEMPTS", "12")
        forget_clients()
        try:
            yield done
        finally:
            server.shutdown()
            server.server_close()
            forget_clients()
