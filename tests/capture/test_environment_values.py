"""Values of secret variables of the own process go from what is recorded within it, however they are written."""

import base64
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.test_clients_record import client_of
from tests.capture.upstream import running_upstream
from weaklink.inspector.capture.client_recording import recorded
from weaklink.inspector.capture.logger import TraceLogger
from weaklink.inspector.pytest_plugin.replaying import Replay

_VALUE = "harbour Zx81/blue"
_TEXT = f"Sail to the {_VALUE} harbour; {base64.b64encode(_VALUE.encode()).decode()} too."


def _record_client(path: Path) -> None:
    with running_upstream(scripted.chat_stream("To the ", _VALUE[:9], _VALUE[9:], " harbour.")) as upstream:
        client = client_of(upstream.url)
        with recorded(client, path):
            answer = client.chat.completions.create(
                model="h", messages=[{"role": "user", "content": _TEXT}], stream=True
            )
            assert _VALUE in "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices)
        client.close()


def _log(path: Path) -> None:
    with TraceLogger(path) as log:
        log.user(_TEXT)
        with log.assistant() as turn:
            turn.feed("To the harbour ")
            turn.feed("Zx81/blue harbour.")


def _record_fixture(path: Path) -> None:
    with running_upstream(scripted.chat_stream("To the ", _VALUE, " harbour.")) as upstream:
        replay = Replay(path, is_recording=True, upstream=upstream.url, allow_unused=True)
        client = client_of(replay.variables["OPENAI_BASE_URL"].removesuffix("/v1"))
        client.chat.completions.create(model="h", messages=[{"role": "user", "content": _TEXT}], stream=True).close()
        client.close()
        replay.close()


@pytest.mark.parametrize(
    "record", [_record_client, _log, _record_fixture], ids=lambda recorder: recorder.__name__.strip("_")
)
def test_a_secret_variable_of_the_process_is_not_recorded(
    record: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.jsonl"
    monkeypatch.setenv("ACME_PASSWORD", _VALUE)
    record(path)
    written = path.read_text("utf-8")
    assert "Sail to the *" in written
    for form in (_VALUE, _VALUE.replace("/", "\\/"), base64.b64encode(_VALUE.encode()).decode()[:20]):
        assert form not in written
