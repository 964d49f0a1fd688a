"""The middleware that keeps timers of a page quiet while a page is being drawn.

A page that is read again and again has a timer in the browser. One that goes off while another page is on its way
asks for a piece of the page that was left; Streamlit then shows that page for a moment, and the browser gives up:
"Bad delta path index". While a script runs, nobody needs a timer: the next one is due soon.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # it brings no types
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

_Message: TypeAlias = MutableMapping[str, Any]
_Receive: TypeAlias = Callable[[], Awaitable[_Message]]
_Send: TypeAlias = Callable[[_Message], Awaitable[None]]
_App: TypeAlias = Callable[[_Message, _Receive, _Send], Awaitable[None]]

_LONGEST = 65_536  # bytes: what says that a script runs is far shorter, and long messages are not read here


class Ticks:
    """An ASGI application before another one, which hears of a timer only when its scripts rest."""

    def __init__(self, app: _App) -> None:
        self._app = app

    async def __call__(self, scope: _Message, receive: _Receive, send: _Send) -> None:
        """Pass everything on but the timers that go off too early."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        is_busy = False

        async def receiving() -> _Message:
            nonlocal is_busy
            while True:
                message = await receive()
                asks, is_tick = _asked(message)
                if not (is_busy and is_tick):
                    is_busy = is_busy or asks
                    return message

        async def sending(message: _Message) -> None:
            nonlocal is_busy
            is_busy = _is_busy_after(message, is_busy=is_busy)
            await send(message)

        await self._app(scope, receiving, sending)


def _asked(message: _Message) -> tuple[bool, bool]:
    """Whether a browser asks to run a script, and whether a timer does so."""
    raw = message.get("bytes") or b""
    if message["type"] != "websocket.receive" or not raw:
        return False, False
    try:
        said = BackMsg.FromString(raw)
    except DecodeError:  # whoever wrote it, Streamlit answers
        return False, False
    return said.WhichOneof("type") == "rerun_script", said.rerun_script.is_auto_rerun


def _is_busy_after(message: _Message, *, is_busy: bool) -> bool:
    """Whether a script runs when this was sent to the browser."""
    raw = message.get("bytes") or b""
    if not 0 < len(raw) <= _LONGEST:
        return is_busy
    said = ForwardMsg.FromString(raw)
    kind = said.WhichOneof("type")
    is_end = kind == "script_finished" and said.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN
    return kind == "new_session" or (is_busy and not is_end)
