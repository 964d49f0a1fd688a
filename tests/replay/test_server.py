"""A recording as a server: its pace, and the errors that clients of each API get where it has no answer."""

import asyncio
import json

import pytest
from aiohttp import ClientSession
from msgspec.structs import replace

from weaklink.inspector.capture.redacting import NoRedaction
from weaklink.inspector.capture.replay_server import ReplayServer, sentence
from weaklink.inspector.model import Json
from weaklink.inspector.model.exchange import RecordedExchange
from weaklink.inspector.replay.matching import DivergenceKind, Recording, ReplayDivergence, Replayer
from weaklink.ui.experiments.serving import serving

_PIECES = (b"data: 1\n\n", b"data: 2\n\n", b"data: 3\n\n", b"data: 4\n\n")
_OFFSETS_S = (0.25, 0.25, None, 1.5)
_ENDS = (9, 18, 27, 36)


def _server(*, is_paced: bool, path: str = "/v1/chat/completions") -> tuple[ReplayServer, list[float]]:
    """A server of one recorded stream, and how long it slept."""
    exchange = RecordedExchange(
        "POST", path, 0.0, 200, (("content-type", "text/event-stream"),), b'{"messages": []}', b"".join(_PIECES), _ENDS
    )
    recording = Recording((replace(exchange, offsets_s=_OFFSETS_S),), (None,))
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    return ReplayServer(Replayer(recording), NoRedaction(), is_paced, sleep=sleep), slept


async def _posted(server: ReplayServer, path: str, body: Json) -> tuple[int, str | None, bytes]:
    async with serving(server, 0) as variables, ClientSession() as client:
        base = variables["OPENAI_BASE_URL"].rpartition("/openai")[0]
        async with client.post(base + path, json=body) as answer:
            return answer.status, answer.headers.get("x-should-retry"), await answer.read()


_MESSAGE = 'The replay diverged at request 1 (POST {path}), compared with recorded request 1: /seed: added "7".'
_SHAPES: dict[str, Json] = {
    "/v1/chat/completions": {
        "error": {"message": _MESSAGE, "type": "invalid_request_error", "param": None, "code": "replay_diverged"}
    },
    "/v1/responses": {
        "error": {"message": _MESSAGE, "type": "invalid_request_error", "param": None, "code": "replay_diverged"}
    },
    "/v1/messages": {"type": "error", "error": {"type": "invalid_request_error", "message": _MESSAGE}},
    "/api/chat": {"error": _MESSAGE},
    "/api/generate": {"error": _MESSAGE},
    "/v1beta/models/g:generateContent": {"error": {"code": 400, "message": _MESSAGE, "status": "INVALID_ARGUMENT"}},
    "/v1beta/models/g:streamGenerateContent": {
        "error": {"code": 400, "message": _MESSAGE, "status": "INVALID_ARGUMENT"}
    },
}


@pytest.mark.parametrize("path", _SHAPES)
def test_a_divergence_has_the_shape_of_the_apis_own_errors_and_is_not_to_be_retried(path: str) -> None:
    server, _ = _server(is_paced=False, path=path)
    status, retry, body = asyncio.run(_posted(server, path, {"messages": [], "seed": 7}))
    assert (status, retry) == (400, "false")
    assert json.loads(body) == json.loads(json.dumps(_SHAPES[path]).replace("{path}", path))


def test_a_divergence_from_a_log_names_no_empty_path() -> None:
    log = ReplayDivergence(DivergenceKind.NEVER_MADE, 1, "conversation", "", turn=2)
    assert sentence(log) == "The replay diverged: recorded request 1 (conversation), turn 2 was never made."
