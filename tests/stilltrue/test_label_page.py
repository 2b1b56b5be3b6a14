"""Labelling in a browser: the page in a real Chromium, and the server that only its own page may write to."""

import json
import shutil
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from stilltrue.labeling.sampling import Drawn, Sample
from stilltrue.labeling.sheet import ADJUDICATED, Given, Sheet, new_sheet, read_sheet
from stilltrue.labeling.web import LOOPBACK, make_server
from stilltrue.pairs import Statement

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ATTACK = '</script><img src=x onerror="document.title=1"><b>bold</b> & "quoted" \u2028 {{ 7 * 7 }}'


def a_sheet(path: Path) -> Sheet:
    texts = [("The gate code is 1180.", "The gate code is 2260."), (ATTACK, "Jo said: <i>maybe</i>"), ("a", "b")]
    pairs = [
        Drawn("ann", Statement(text=older), Statement(text=newer), 0.5, "0.45 to 0.6", 2.0) for older, newer in texts
    ]
    return new_sheet(path, Sample(tuple(pairs), {"0.45 to 0.6": (6, 3)}), size=3, seed=0, embedder="e", store="s")


class Served:
    """A sheet on loopback while a test runs."""

    def __init__(self, sheet: Sheet, annotator: str = "ann") -> None:
        self.sheet = sheet
        self._server = make_server(sheet, annotator)
        self.port = self._server.server_port
        self.url = f"http://{LOOPBACK}:{self.port}/"
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> "Served":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> tuple[int, str, dict[str, str]]:
        connection = HTTPConnection(LOOPBACK, self.port, timeout=10)
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        found = answer.status, answer.read().decode(), dict(answer.getheaders())
        connection.close()
        return found

    def token(self) -> str:
        _, page, _ = self.ask("GET", "/")
        return page.partition('const token = "')[2].partition('"')[0]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(a_sheet(tmp_path / "s.jsonl")) as served:
        yield served


# The server


def posted(place: int, relation: str = "supersedes", *, should_retire: bool = True) -> str:
    label = {"relation": relation, "should_retire": should_retire, "doubt": False, "note": ""}
    return json.dumps({"place": place, "label": label})


def test_the_page_may_write_and_nobody_else(served: Served) -> None:
    assert served.ask("POST", "/label", posted(0))[0] == 403
    assert served.ask("POST", "/label", posted(0), X_Token=served.token()[:-1])[0] == 403
    assert served.ask("POST", "/label", posted(0), X_Token=served.token(), Host="evil.example")[0] == 403
    assert served.ask("GET", "/pairs", Host="evil.example:80")[0] == 403
    assert served.sheet.open("ann") == [0, 1, 2]
    assert served.ask("POST", "/label", posted(0), X_Token=served.token())[0] == 200
    assert read_sheet(served.sheet.path).open("ann") == [1, 2]


@pytest.mark.parametrize(
    "body",
    ["", "{}", posted(3), posted(-1), posted(0, "refines"), posted(0, "superseeds"), "x" * 30_000],
    ids=["empty", "no label", "no such pair", "negative", "label that contradicts itself", "no relation", "too long"],
)
def test_what_is_no_label_is_refused_and_nothing_is_written(served: Served, body: str) -> None:
    status, text, _ = served.ask("POST", "/label", body, X_Token=served.token())
    assert status == 400
    assert text
    assert served.sheet.open("ann") == [0, 1, 2]


def test_other_paths_are_not_found_and_answers_forbid_what_they_dont_need(served: Served) -> None:
    assert served.ask("GET", "/../../etc/passwd")[0] == 404
    _, _, headers = served.ask("GET", "/")
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_it_listens_on_loopback_only(served: Served) -> None:
    assert served._server.server_address[0] == "127.0.0.1"


def test_others_labels_are_told_to_the_adjudicator_only(tmp_path: Path) -> None:
    sheet = a_sheet(tmp_path / "s.jsonl")
    sheet.label(0, "bob", Given(relation="refines", should_retire=False, doubt=True, note="hidden"))
    for annotator, shown in (("ann", False), (ADJUDICATED, True)):
        with Served(sheet, annotator) as served:
            assert ("hidden" in served.ask("GET", "/pairs")[1]) == shown


def test_a_full_disk_is_told_and_the_pair_stays(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    token = served.token()
    monkeypatch.setattr(Sheet, "save", full)
    status, text, _ = served.ask("POST", "/label", posted(0), X_Token=token)
    assert (status, "No space left" in text) == (500, True)


# The page in a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (Debian: apt install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Any, served: Served) -> Iterator[Any]:
    """The page, loaded; any error in its script fails the test."""
    page, errors = browser.new_page(), list[str]()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(served.url)
    shows(page, "#where", "pair 1 of 3")
    yield page
    page.close()
    assert errors == []


def shows(page: Any, where: str, text: str) -> None:
    """Wait until a text appears; the page's own policy forbids to evaluate scripts in it."""
    page.locator(where, has_text=text).wait_for()


def saved(page: Any, relation: str) -> None:
    shows(page, "#message", f"saved: {relation}")


def test_clicks_and_keys_label_one_pair_after_the_other(page: Any, served: Served) -> None:
    assert page.inner_text("#where") == "pair 1 of 3, 0 labelled"
    assert page.inner_text("#older") == "The gate code is 1180."
    page.click("[data-relation=supersedes]")
    saved(page, "supersedes")
    assert page.inner_text("#where") == "pair 2 of 3, 1 labelled"
    page.keyboard.press("?")
    page.keyboard.press("n")
    page.keyboard.type("scrod is no label here")
    page.keyboard.press("Escape")
    page.keyboard.press("o")
    saved(page, "coexists")
    page.keyboard.press("k")
    assert page.inner_text("#where") == "pair 3 of 3, 2 labelled"  # the one that was skipped comes again
    labels = [item.labels.get("ann") for item in read_sheet(served.sheet.path).items]
    assert labels == [
        Given(relation="supersedes", should_retire=True),
        Given(relation="coexists", should_retire=False, doubt=True, note="scrod is no label here"),
        None,
    ]


def test_when_all_is_labelled_it_says_so_and_back_still_works(page: Any, served: Served) -> None:
    for relation in ("supersedes", "contradicts", "refines"):
        page.click(f"[data-relation={relation}]")
        shows(page, "#message", f"saved: {relation}")
    shows(page, "#message", "Nothing left to label. Every label is saved")
    assert page.is_hidden("#pair")
    page.click("#back")
    assert page.get_attribute("[data-relation=refines]", "aria-pressed") == "true"


def test_an_adjudicator_must_write_a_reason(browser: Any, tmp_path: Path) -> None:
    sheet = a_sheet(tmp_path / "s.jsonl")
    sheet.label(1, "ann", Given(relation="supersedes", should_retire=True))
    sheet.label(1, "bob", Given(relation="coexists", should_retire=False))
    with Served(sheet, ADJUDICATED) as served:
        page = browser.new_page()
        page.goto(served.url)
        shows(page, "#where", "pair 2 of 3, 0 labelled")
        page.keyboard.press("s")
        shows(page, "#message", "NOT saved: whoever adjudicates writes a reason")
        page.keyboard.press("n")
        page.keyboard.type("the newer one says so")
        page.keyboard.press("Enter")
        page.keyboard.press("S")
        shows(page, "#message", "Nothing left to label.")
        page.close()
    assert read_sheet(sheet.path).items[1].labels[ADJUDICATED].note == "the newer one says so"


def test_back_shows_the_label_that_was_given_and_lets_it_be_changed(page: Any, served: Served) -> None:
    page.keyboard.press("s")
    saved(page, "supersedes")
    page.keyboard.press("b")
    assert page.get_attribute("[data-relation=supersedes]", "aria-pressed") == "true"
    page.keyboard.press("d")
    saved(page, "duplicate")
    assert read_sheet(served.sheet.path).items[0].labels["ann"].relation == "duplicate"


def test_a_text_is_shown_as_it_is_whatever_is_in_it(page: Any) -> None:
    title = page.title()
    page.keyboard.press("k")
    assert page.inner_text("#older").replace("\u2028", " ").split() == ATTACK.replace("\u2028", " ").split()
    assert page.query_selector("#older img") is None
    assert page.inner_text("#newer") == "Jo said: <i>maybe</i>"
    assert page.title() == title


def test_what_could_not_be_saved_is_said_and_stays_on_the_screen(
    page: Any, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Sheet, "save", full)
    page.keyboard.press("s")
    shows(page, "#message", "NOT saved: [Errno 28] No space left on device")
    assert page.inner_text("#where").startswith("pair 1 of 3")


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (360, 640)], ids=["desk", "phone"])
def test_the_page_fits_the_screen_and_is_not_empty(page: Any, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for name in ("#older", "#newer", "[data-relation=supersedes]", "[data-relation=unrelated]", "#doubt"):
        box = page.locator(name).bounding_box()
        assert box["width"] > 0
        assert box["height"] > 0
    assert len(page.screenshot()) > 5_000


def test_every_button_can_be_reached_with_the_keyboard_alone(page: Any) -> None:
    reached: set[str] = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset.relation || document.activeElement.id"))
    assert {"supersedes", "contradicts", "refines", "coexists", "duplicate", "unrelated", "note", "doubt"} <= reached
