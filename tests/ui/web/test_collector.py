"""A recorder at a distance: `weaklink record --to` a dashboard, over its outbox, whatever becomes of either process."""

import json
import urllib.request
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError

import pytest

from inspector.capture.event_lines import BATCH, EVENTS_PATH, PACKED_TYPE, pack_body
from inspector.capture.events import TraceEnded
from inspector.errors import StoreError
from storage import open_store
from storage.access_tokens import TokenRole
from tests.capture import scripted_answers as scripted
from tests.capture.events import wait_until
from tests.capture.upstream import running_upstream
from tests.ui.cli.recordings import RecordProcess, recording_process
from tests.ui.web.dashboards import free_port, running

_ANSWERS = tuple(scripted.chat_stream("It is ", f"{number} degrees") for number in range(4))


def _token(database: Path, role: TokenRole) -> str:
    with open_store(database) as store:
        return store.tokens.create(f"recorder that may {role.value}", role)


def _ask(recording: RecordProcess, words: str) -> str:
    body = {"model": "hermes-4-70b", "stream": True, "messages": [{"role": "user", "content": words}]}
    request = urllib.request.Request(
        f"{recording.url}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(answer.read().decode())


def _asked(database: Path) -> list[str]:
    """What users asked in the traces whose answer is there, once for each trace."""
    found: list[str] = []
    with open_store(database, read_only=True) as store:
        for one in store.traces():
            with suppress(StoreError):  # it turned out to be another one, and went
                user, *answers = store.trace(one.id).turns
                found += [user.parts[0].text for answer in answers[:1] if answer.parts]
    return sorted(found)


@pytest.mark.slow
def test_a_recording_arrives_and_outlives_a_collector_that_is_killed_and_a_recorder_that_ends_meanwhile(
    tmp_path: Path,
) -> None:
    database, port = tmp_path / "team.db", free_port()
    told = {"WEAKLINK_COLLECTOR_TOKEN": _token(database, TokenRole.WRITE)}
    words = ("--to", f"http://127.0.0.1:{port}", "--queue", str(tmp_path / "queue"))
    with running_upstream(*_ANSWERS) as upstream:
        with recording_process(tmp_path, "--upstream", upstream.url, *words, **told) as recording:
            with running(tmp_path, database, "--tokens", port=port) as dashboard:
                assert "0 degrees" in _ask(recording, "first")
                wait_until(lambda: _asked(database) == ["first"], within_s=60)
                dashboard.process.kill()
            assert "1 degrees" in _ask(recording, "second")
            wait_until(lambda: any("waits in" in line for line in recording.said), within_s=60)
            with running(tmp_path, database, "--tokens", port=port):
                wait_until(lambda: _asked(database) == ["first", "second"], within_s=60)
            assert "2 degrees" in _ask(recording, "third")
            assert recording.stop() == 0
            assert "of events are queued in" in recording.said[-1]
        with (
            running(tmp_path, database, "--tokens", port=port),
            recording_process(tmp_path, "--upstream", upstream.url, *words, **told) as recording,
        ):
            wait_until(lambda: _asked(database) == ["first", "second", "third"], within_s=60)
            assert "3 degrees" in _ask(recording, "fourth")
            assert recording.stop() == 0
            assert "wait in" not in recording.said[-1]
    with open_store(database) as store:
        assert len(store.traces()) == 4
        assert {one.liveness for one in store.traces()} == {None}
    assert list((tmp_path / "queue").iterdir()) == []


@pytest.mark.parametrize("role", [None, TokenRole.READ])
def test_a_recorder_needs_a_token_that_may_write(tmp_path: Path, role: TokenRole | None) -> None:
    database = tmp_path / "team.db"
    _token(database, TokenRole.WRITE)
    token = _token(database, role) if role else ""
    with running(tmp_path, database, "--tokens") as dashboard:
        headers = {BATCH: "1", "Content-Type": PACKED_TYPE, "Authorization": f"Bearer {token}"}
        address = f"http://127.0.0.1:{dashboard.port}{EVENTS_PATH}"
        request = urllib.request.Request(address, pack_body([TraceEnded("k")]), headers, method="POST")
        with pytest.raises(HTTPError) as error:
            urllib.request.urlopen(request, timeout=60)
        assert error.value.code == (403 if role else 401)
        error.value.close()
        foreign = urllib.request.Request(address, b"", {**headers, "Origin": "http://evil.example"}, method="POST")
        with pytest.raises(HTTPError) as error:
            urllib.request.urlopen(foreign, timeout=60)
        assert error.value.code == 403
        error.value.close()
