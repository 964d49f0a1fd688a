"""What a replay says at its end: how much of the recording was used, and where the live run differed from it."""

import shlex
from collections.abc import Iterator
from typing import NamedTuple

from inspector.capture.replay_server import ReplayServer, place, sentence
from inspector.model import Json
from inspector.replay.differences import BodyDifference
from inspector.replay.matching import ReplayDivergence
from inspector.text import Range
from ui.views.styled_text import GLYPHS, Line, Run, Style, visible_line
from ui.views.wording import counted

_MOST = 20


class KeptDivergence(NamedTuple):
    """Where both requests of a divergence are kept: trace and turn of the recorded one, and of the live one.

    `place` names the database where a command has to.
    """

    trace: int
    turn: int
    live_trace: int
    live_turn: int
    place: str = ""

    def commands(self) -> tuple[str, str]:
        """What shows them side by side, on stdout and in the terminal's dissector."""
        place = f" --db {shlex.quote(self.place)}" if self.place else ""
        turns = f"--requests {self.turn},{self.live_turn}"
        return (
            f"weaklink diff {self.trace} {self.live_trace} {turns}{place}",
            f"weaklink tui {self.trace} --against {self.live_trace}{place}",
        )


def report_lines(
    server: ReplayServer, never_made: tuple[ReplayDivergence, ...], kept: KeptDivergence | None = None
) -> Iterator[Line]:
    """The report for a terminal; texts of requests are made visible."""
    replayer = server.replayer
    said = f"weaklink: replayed {replayer.used} of {counted(len(replayer.exchanges), 'recorded request')}"
    said += f"; {counted(server.live_requests, 'request')} went upstream" if server.live_requests else ""
    yield (Run(f"{said}."),)
    ignored = replayer.ignored
    if ignored:
        yield (Run(f"weaklink: ignored {counted(len(ignored), 'difference')}:"),)
        for number, one in ignored[:_MOST]:
            yield (Run(f"  request {number}, {visible_line(place(one))}", Style.DIM),)
        if len(ignored) > _MOST:
            yield (Run(f"  and {len(ignored) - _MOST} more", Style.DIM),)
    for divergence in (*server.divergences, *never_made)[:_MOST]:
        yield (Run(f"{GLYPHS['error']} {visible_line(sentence(divergence))}", Style.ERROR),)
        for one in divergence.differences[1:_MOST]:
            yield (Run(f"  also {visible_line(place(one))}", Style.DIM),)
    if kept is not None:
        yield (Run("weaklink: both requests side by side:"),)
        for command in kept.commands():
            yield (Run(f"  {visible_line(command)}", Style.DIM),)


def report_json(
    server: ReplayServer,
    never_made: tuple[ReplayDivergence, ...],
    exit_code: int,
    kept: KeptDivergence | None = None,
) -> Json:
    """The same for programs; ranges are `[start, end]` in code points of the decoded text."""
    replayer = server.replayer
    return {
        "recorded": len(replayer.exchanges),
        "replayed": replayer.used,
        "requests": replayer.requests + max(0, server.live_requests - len(server.divergences)),
        "live": server.live_requests,
        "ignored": [{"request": number, **_difference(one)} for number, one in replayer.ignored],
        "divergences": [_divergence(one) for one in (*server.divergences, *never_made)],
        "traces": None if kept is None else {"recorded": kept.trace, "live": kept.live_trace},
        "exit_code": exit_code,
    }


def _divergence(one: ReplayDivergence) -> dict[str, Json]:
    return {
        "kind": one.kind.value,
        "request": one.number,
        "method": one.method,
        "path": one.path,
        "recorded_request": one.exchange or None,
        "turn": one.turn or None,
        "differences": [_difference(each) for each in one.differences],
    }


def _difference(one: BodyDifference) -> dict[str, Json]:
    return {
        "kind": one.kind.value,
        "pointer": one.pointer,
        "message": one.message,
        "recorded": one.recorded,
        "live": one.live,
        "recorded_range": _range(one.recorded_range),
        "live_range": _range(one.live_range),
    }


def _range(where: Range | None) -> Json:
    return None if where is None else [where.start, where.end]
