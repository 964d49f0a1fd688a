"""The request and the answer as the source tells them: parameters, tools, finish, usage, errors, what the wire said."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime

from inspector.diagnostics import Location
from inspector.model import Generation, Instant, Turn
from inspector.text import Range
from inspector.wire.events import WIRE_PREFIX
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.pretty_json import pretty_json
from ui.views.dissect.side import SideLine, SideLines
from ui.views.palette import Style
from ui.views.run import Run
from ui.views.turn import error_words
from ui.views.visible import visible_line
from ui.views.wording import counted, wrapped

_NAME, _LONGEST = 12, 4_000


def raw(dissection: Dissection, turn: int, width: int) -> SideLines:
    """What is known of the request and the answer of a turn, beside its text; parts of the wire lead to their text."""
    return SideLines(_lines(dissection.trace.turns[turn - 1], turn, width))


def _lines(turn: Turn, number: int, width: int) -> Iterator[SideLine]:
    yield from _fact("turn", f"{number} {turn.role.value}", width)
    if turn.source_role and turn.source_role != turn.role.value:
        yield from _fact("source role", turn.source_role, width)
    if turn.flags:
        yield from _fact("flags", ", ".join(sorted(flag.value for flag in turn.flags)), width)
    if turn.result is not None:
        told = {"call id": turn.result.call_id, "name": turn.result.name, "error": turn.result.is_error}
        yield from _fact(
            "result", ", ".join(f"{key} {value}" for key, value in told.items() if value is not None), width
        )
    for header in turn.calls:
        yield from _fact(header.part, f"{header.name or '(no name)'}{f', id {header.id}' if header.id else ''}", width)
    if turn.generation is None:
        yield SideLine((Run("No request is known that made this turn.", Style.DIM),))
    else:
        yield from _generation(turn.generation, width)
    for part in turn.parts:
        if part.name.startswith(WIRE_PREFIX):
            place = Location(number, part.name, Range(0, 0))
            for line, _ in _fact(part.name.removeprefix(WIRE_PREFIX), part.text, width):
                yield SideLine(line, place)


def _generation(made: Generation, width: int) -> Iterator[SideLine]:
    yield from _fact("endpoint", made.api, width)
    yield from _fact("asked", made.requested_model, width)
    yield from _fact("answered", made.answered_model, width)
    if made.attempt > 1 or made.retry_of:
        yield from _fact("attempt", f"{made.attempt}{f', repeats {made.retry_of}' if made.retry_of else ''}", width)
    if made.tools:
        stood = f" in the {made.tools_origin.value.replace('_', ' ')}" if made.tools_origin else ""
        names = ", ".join(tool.name for tool in made.tools)
        yield from _fact("tools", f"{counted(len(made.tools), 'tool')}{stood}: {names}", width)
    finish = made.finish_reason or (made.finish.value if made.finish else "")
    normal = f" ({made.finish.value})" if made.finish and made.finish.value != finish else ""
    yield from _fact("finish", f"{finish}{normal}" if finish else "", width)
    yield from _fact("usage", _usage(made), width)
    yield from _fact("body", made.body.value.replace("_", " "), width)
    for name, instant in (("started", made.started), ("first token", made.first_token), ("ended", made.ended)):
        yield from _fact(name, _moment(instant), width)
    if made.error is not None:
        for line in wrapped(error_words(made.error), width, indent=4):
            yield SideLine(line)
    yield from _parameters(made.parameters, width)


def _parameters(written: str, width: int) -> Iterator[SideLine]:
    if not written:
        return
    try:
        value = json.loads(written[: 1 << 20])
    except (ValueError, RecursionError):
        yield from _fact("parameters", written, width)
        return
    yield SideLine((Run("parameters", Style.DIM),))
    for line, _ in pretty_json(value, room=width - 2):
        yield SideLine((Run("  "), *line))


def _fact(name: str, said: str, width: int) -> Iterator[SideLine]:
    if not said:
        return
    lead = Run(f"{name:<{_NAME}} ", Style.DIM)
    more = f" … {len(said):,} characters" if len(said) > _LONGEST else ""
    for line in wrapped((Run(visible_line(said[:_LONGEST] + more)),), max(width - _NAME - 1, 12)):
        yield SideLine((lead, *line))
        lead = Run(" " * (_NAME + 1))


def _usage(made: Generation) -> str:
    usage = made.usage
    known = {
        "in": usage.input_tokens,
        "out": usage.output_tokens,
        "reasoning": usage.reasoning_tokens,
        "cached": usage.cached_tokens,
    }
    said = ", ".join(f"{number:,} {name}" for name, number in known.items() if number is not None)
    return f"{said} (counted by weaklink)" if said and usage.computed else said


def _moment(instant: Instant | None) -> str:
    if instant is None:
        return ""
    try:
        said = datetime.fromtimestamp(instant.at_s, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + " UTC"
    except (OverflowError, ValueError, OSError):  # no year that a calendar has
        said = f"{instant.at_s:.3f} s since 1970"
    return f"{said}, {instant.source.value}"
