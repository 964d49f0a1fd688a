"""Asking a turn again from its page: a look at what is sent, a table that fills, and a server that can be stopped."""

import time
import urllib.error
import urllib.request
from pathlib import Path
from unittest.mock import patch

import pytest
from streamlit.testing.v1 import AppTest

from tests.capture.upstream import running_upstream
from tests.ui.experiments.asking import database, server
from tests.ui.web.apps import page, said_in
from weaklink.storage.store import open_store
from weaklink.ui.experiments.ask_views import replay_server_of
from weaklink.ui.views.styled_text import plain
from weaklink.ui.web.stores import DashboardOptions
from weaklink.ui.web.trace_actions import PageWork


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def _fill(app: AppTest, **fields: str) -> None:
    for text_input in app.text_input:
        if text_input.label in fields:
            text_input.set_value(fields[text_input.label])


def _press(app: AppTest, name: str) -> None:
    next(button for button in app.button if button.label == name).click()
    app.run()
    assert not app.exception, [exception.value for exception in app.exception]


def test_a_turn_is_asked_again_after_a_look_at_what_is_sent(tmp_path: Path) -> None:
    where = database(tmp_path)
    with running_upstream(server("openai", lambda body: 0.0 if body.get("temperature") == 0 else 1.0)) as upstream:
        app = page("trace", Path(where), trace="1", beside="ask")
        _fill(app, Server=upstream.url, **{"Number of times": "4", "Settings": "temperature=0"})
        _press(app, "Send")
        assert not upstream.requests, "nothing is sent before it was previewed"
        assert "will be sent 8 times (4 per setting; " in said_in(app)
        _press(app, "Send")
        work = app.session_state["weaklink_ask_work"]
        work.thread.join(60)
        app.run()
        said = said_in(app)
        assert "4 pairs of 4 counted; 8 answers saved as forks." in said
        assert 'class="wl ' not in said
        (table,) = (
            str(component.proto) for component in app.get("bidi_component") if "Answers by rule" in str(component.proto)
        )
        assert "difference" in table
        assert "any error" in table
    with open_store(where) as store:
        assert len(store.traces("forks:yes")) == 9


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    app = page("trace", Path(database(tmp_path)), trace="1", beside="ask")
    _press(app, "Preview")
    assert any("server URL is required" in error.value for error in app.error)


def test_the_form_is_not_offered_to_other_machines(tmp_path: Path) -> None:
    where = Path(database(tmp_path))
    assert any(text_input.label == "Server" for text_input in page("trace", where, trace="1", beside="ask").text_input)
    with patch("weaklink.ui.web.trace_actions.current_options", lambda: DashboardOptions(str(where), is_local=False)):
        assert not any(
            text_input.label == "Server" for text_input in page("trace", where, trace="1", beside="ask").text_input
        )


def test_a_trace_is_served_until_it_is_stopped(tmp_path: Path) -> None:
    with open_store(database(tmp_path)) as store:
        work = PageWork(1)
        work.serve(*replay_server_of(store, 1), None)
    address = _first_line(work).partition("=")[2]
    request = urllib.request.Request(f"{address}/chat/completions", b'{"messages": [{"role": "user", "content": "?"}]}')
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(request, timeout=20)
    assert _line(work, "│ The request of turn 2").startswith("Turn 3")
    work.stop()
    assert work.thread is not None
    work.thread.join(30)
    assert not work.is_running
    assert plain(work.lines[0]) == "The server has stopped."
    assert not any(address in plain(line) for line in work.lines)
    with pytest.raises(urllib.error.URLError, match="refused"):
        urllib.request.urlopen(request, timeout=20)


def _first_line(work: PageWork) -> str:
    return _line(work, "=")


def _line(work: PageWork, words: str) -> str:
    """The first line with these words, once it is there."""
    for _ in range(600):
        for line in map(plain, work.lines):
            if words in line:
                return line
        time.sleep(0.05)
    raise AssertionError(f"nothing says {words!r}: {list(map(plain, work.lines))}")
