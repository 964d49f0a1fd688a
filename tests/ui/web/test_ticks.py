"""Timers of a page: they are heard while its scripts rest, and not while a page is being drawn."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from weaklink.ui.web.server import TimerMiddleware


def _asks(*, tick: bool = False, fragment: str = "f") -> bytes:
    said = BackMsg()
    said.rerun_script.is_auto_rerun = tick
    said.rerun_script.fragment_id = fragment
    return bytes(said.SerializeToString())


def _begins() -> bytes:
    said = ForwardMsg()
    said.new_session.page_script_hash = "p"
    return bytes(said.SerializeToString())


def _ends(status: "ForwardMsg.ScriptFinishedStatus.ValueType" = ForwardMsg.FINISHED_SUCCESSFULLY) -> bytes:
    said = ForwardMsg()
    said.script_finished = status
    return bytes(said.SerializeToString())


TICK, CLICK = _asks(tick=True), _asks()
BEGINS, ENDS, AGAIN = _begins(), _ends(), _ends(ForwardMsg.FINISHED_EARLY_FOR_RERUN)
HEARD = {
    "a timer at rest": ([("in", TICK)], [TICK]),
    "one while a script runs": ([("out", BEGINS), ("in", TICK), ("in", CLICK)], [CLICK]),
    "one after a click that nobody answered yet": ([("in", CLICK), ("in", TICK)], [CLICK]),
    "one when the script has run": ([("in", CLICK), ("out", BEGINS), ("out", ENDS), ("in", TICK)], [CLICK, TICK]),
    "one when the script is about to run anew": ([("out", BEGINS), ("out", AGAIN), ("in", TICK)], []),
    "what is no message": ([("out", BEGINS), ("in", b"\xff\xff\xff")], [b"\xff\xff\xff"]),
}


@pytest.mark.parametrize("name", list(HEARD))
def test_a_timer_is_heard_only_when_no_script_runs(name: str) -> None:
    frames, wanted = HEARD[name]
    assert asyncio.run(_heard(frames)) == wanted


async def _heard(frames: Iterable[tuple[str, bytes]]) -> list[bytes]:
    """What the application hears, frames going in and out in this order."""
    heard: list[bytes] = []
    waiting = list(frames)

    async def receive() -> dict[str, Any]:
        if waiting and waiting[0][0] == "in":
            return {"type": "websocket.receive", "bytes": waiting.pop(0)[1]}
        return {"type": "websocket.disconnect"}

    async def send(message: Any) -> None:
        assert message["bytes"]

    async def application(_scope: Any, receiving: Any, sending: Any) -> None:
        while waiting:
            while waiting and waiting[0][0] == "out":
                await sending({"type": "websocket.send", "bytes": waiting.pop(0)[1]})
            message = await receiving()
            heard.extend([message["bytes"]] if "bytes" in message else [])

    await TimerMiddleware(application)({"type": "websocket"}, receive, send)
    return heard
