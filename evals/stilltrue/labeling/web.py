"""The same labelling on a page in a browser, served on loopback only."""

import json
import secrets
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Lock
from typing import Any

from stilltrue.labeling.sheet import ADJUDICATED, Given, Sheet
from stilltrue.labeling.terminal import KEYS
from stilltrue.pairs import RETIRING
from stilltrue.records import Record

LOOPBACK = "127.0.0.1"
_MOST_BYTES = 20_000
_PLAIN = "text/plain; charset=utf-8"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"


class Posted(Record):
    """What the page sends: the label of the pair at ``place``."""

    place: int
    label: Given


def make_server(sheet: Sheet, annotator: str, *, port: int = 0) -> ThreadingHTTPServer:
    """A server on loopback, not yet serving; port 0 takes a free one. ``server_port`` tells which.

    Only requests for this very address count (against DNS rebinding), and only those that carry the token of the page
    may write (against other pages in the same browser). Raises OSError when the port is taken.
    """
    return ThreadingHTTPServer((LOOPBACK, port), partial(_Handler, _Desk(sheet, annotator)))


class _Desk:
    """What the requests share: the sheet, behind a lock, and the page's token."""

    def __init__(self, sheet: Sheet, annotator: str) -> None:
        self.sheet = sheet
        self.annotator = annotator
        self.token = secrets.token_urlsafe(16)
        self._lock = Lock()

    def admits(self, token: str) -> bool:
        """Whether it is the page's token."""
        return secrets.compare_digest(token.encode(), self.token.encode())

    def state(self) -> list[dict[str, Any]]:
        with self._lock:
            return _state(self.sheet, self.annotator)

    def label(self, body: bytes) -> None:
        """Keep what the page sent. Raises ValueError for anything that is no label of a pair of this sheet."""
        posted = Posted.model_validate_json(body)
        if not 0 <= posted.place < len(self.sheet.items):
            raise ValueError(f"no pair {posted.place}")
        if self.annotator == ADJUDICATED and not posted.label.note.strip():
            raise ValueError("whoever adjudicates writes a reason into the note")
        with self._lock:
            self.sheet.label(posted.place, self.annotator, posted.label)


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, desk: _Desk, *args: Any) -> None:
        self._desk = desk  # before the base class, which answers the request while it is made
        super().__init__(*args)

    def do_GET(self) -> None:
        if not self._at_home():
            return
        if self.path == "/":
            page = _page(self._desk.sheet, self._desk.annotator, self._desk.token)
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", page.encode())
        elif self.path == "/pairs":
            self._send(HTTPStatus.OK, "application/json", json.dumps(self._desk.state()).encode())
        else:
            self._send(HTTPStatus.NOT_FOUND, _PLAIN, b"not found")

    def do_POST(self) -> None:
        if not self._at_home():
            return
        length = self.headers.get("Content-Length", "")
        if self.path != "/label" or not self._desk.admits(self.headers.get("X-Token", "")):
            self._send(HTTPStatus.FORBIDDEN, _PLAIN, b"reload the page")
        elif not length.isdecimal() or not 0 < int(length) <= _MOST_BYTES:
            self._send(HTTPStatus.BAD_REQUEST, _PLAIN, b"too long or empty")
        else:
            self._label(self.rfile.read(int(length)))

    def _label(self, body: bytes) -> None:
        try:
            self._desk.label(body)
        except ValueError as error:
            self._send(HTTPStatus.BAD_REQUEST, _PLAIN, str(error).encode())
        except OSError as error:  # a full disk: the page says so and keeps the pair on the screen
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, _PLAIN, str(error).encode())
        else:
            self._send(HTTPStatus.OK, "application/json", b"{}")

    def _at_home(self) -> bool:
        port = self.server.server_port if isinstance(self.server, ThreadingHTTPServer) else 0
        own = self.headers.get("Host", "") in {f"{name}:{port}" for name in (LOOPBACK, "localhost")}
        if not own:
            self._send(HTTPStatus.FORBIDDEN, _PLAIN, b"only on loopback")
        return own

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Security-Policy", _POLICY)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's names
        """Say nothing: the terminal belongs to the command."""


def _page(sheet: Sheet, annotator: str, token: str) -> str:
    """The page; what it shows of facts comes later, as JSON, and is set as text."""
    import jinja2

    source = files("stilltrue.labeling").joinpath("page.html.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(source).render(
        annotator=annotator,
        token=token,
        keys=KEYS,
        retiring=RETIRING,
        total=len(sheet.assigned(annotator)),
        adjudicates=annotator == ADJUDICATED,
    )


def _state(sheet: Sheet, annotator: str) -> list[dict[str, Any]]:
    """Every pair with this annotator's own label; others' labels only for whoever adjudicates."""
    assigned = set(sheet.assigned(annotator))
    return [
        {
            "place": place,
            "older": item.older.model_dump(mode="json"),
            "newer": item.newer.model_dump(mode="json"),
            "assigned": place in assigned,
            "label": given.model_dump() if (given := item.labels.get(annotator)) else None,
            "others": [
                {"annotator": name, **label.model_dump()} for name, label in item.labels.items() if name != ADJUDICATED
            ]
            if annotator == ADJUDICATED
            else [],
        }
        for place, item in enumerate(sheet.items)
    ]
