"""The in-process logger, for code that has the token stream itself: one line to open it, one for each turn."""

from asyncio import to_thread
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from weaklink.inspector.capture.events import Sink
from weaklink.inspector.capture.logged_turn import LoggedTrace, LoggedTurn, Tokenizer, tool_definitions
from weaklink.inspector.capture.redacting import Redacts
from weaklink.inspector.capture.safeguards import CloseOnce, ErrorCounters, guarded
from weaklink.inspector.capture.sinks import open_sink
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.json_text import Json, compact_json
from weaklink.inspector.model.calls import ToolDefinition
from weaklink.inspector.model.trace import Outcome, Part, Provenance, RecordedRun, ResultHeader, Role, Trace, Turn
from weaklink.inspector.redaction.redactor import Redactor

SOURCE = "logger"
"""The source of traces that this logger records."""


class TraceLogger:
    """Records one agent session as it happens.

        with TraceLogger("runs.db", model="Hermes-4") as log:
            log.system("You have tools.")
            log.user("How warm is it in Oslo?")
            with log.assistant(tools=tools) as turn:
                for piece in model(...):
                    turn.feed(piece)
            log.tool('{"celsius": 3}', name="weather")

    `place_or_sink` is a place for `open_sink` (None: the default database), or a sink, which several loggers may share
    and which stays open. `tools` are offered with every turn that names no tools. `redactor` replaces secrets before
    anything leaves the process (None: a `Redactor` that also knows this process's secret variables; `NoRedaction` keeps
    all).

    Opening raises what `open_sink` raises, UnknownFormatError, and TypeError for invalid tools. After that nothing is
    raised into the agent and nothing waits for a disk or a network. `mistakes` counts what could not be recorded, and
    the first error of each kind is logged to `weaklink`; `dropped` counts events that the sink dropped. Only `close`,
    which the end of `with` and the end of the process call, waits for the sink, 30 seconds at most. Everything is
    thread-safe and works with `async with` too. The trace begins with its first turn. A forked process opens a logger
    of its own: what it records with this one is counted as a mistake.
    """

    def __init__(
        self,
        place_or_sink: str | Path | Sink | None = None,
        *,
        name: str = "",
        model: str = "",
        format: str = "",
        tools: Iterable[ToolDefinition | Mapping[str, Any]] = (),
        redactor: Redacts | None = None,
    ) -> None:
        chosen = find_format(format).name if format else ""
        self._tools = tool_definitions(tools)
        self._model = model
        owns_sink = place_or_sink is None or isinstance(place_or_sink, str | Path)
        sink = open_sink(place_or_sink) if owns_sink else place_or_sink  # type: ignore[arg-type]  # owns_sink says which
        trace = Trace((), name=name, model=model, format=chosen, provenance=Provenance(SOURCE))
        self._recording = LoggedTrace(sink, trace, redactor or Redactor.of_environment(), owns_sink=owns_sink)  # type: ignore[arg-type]  # the same
        self._closing = CloseOnce(self, self._recording.close)

    @property
    def mistakes(self) -> ErrorCounters:
        """What could not be recorded: `count`, and the `last` error."""
        return self._recording.mistakes

    @property
    def dropped(self) -> int:
        """How many events the sink dropped, if it counts them; the end of a turn contains its chunks again."""
        return int(getattr(self._recording.sink, "dropped", 0))

    @guarded
    def system(self, text: str) -> None:
        """Record a system message."""
        self._add(Role.SYSTEM, text)

    @guarded
    def user(self, text: str) -> None:
        """Record a user message."""
        self._add(Role.USER, text)

    @guarded
    def tool(
        self,
        content: Json,
        *,
        call_id: str | None = None,
        name: str | None = None,
        is_error: bool | None = None,
        executed: Json = None,
        returned: Json = None,
    ) -> None:
        """Record a tool's result as the model reads it; content that is no text is written as JSON.

        `executed` are the arguments with which the agent really ran the tool, `returned` is the tool's result before
        the agent changed it; None if the agent does not provide them. If they differ from the call and from `content`,
        the inspection reports it.
        """
        text = _text(content)
        run = None
        if executed is not None or returned is not None:
            arguments = None if executed is None else _text(executed)
            result = None if returned is None else _text(returned)
            run = RecordedRun(SOURCE, name or "", call_id, arguments, result, is_error)
        self._add(Role.TOOL, text, ResultHeader(call_id, name, is_error), run)

    def assistant(
        self,
        *,
        model: str = "",
        tools: Iterable[ToolDefinition | Mapping[str, Any]] | None = None,
        parameters: Mapping[str, Any] | None = None,
        prompt: str = "",
        tokenizer: Tokenizer | None = None,
    ) -> LoggedTurn:
        """Begin a turn of the model.

        `prompt` is the raw prompt, or its last lines: what it leaves open (`<think>`) belongs to the turn; its last
        1,024 characters are kept. `parameters` are the sampling settings. With a `tokenizer`, the turn accepts token
        ids from transformers' `generate(streamer=turn)`.
        """
        return LoggedTurn(
            self._recording,
            owner=self,
            model=model or self._model,
            tools=self._tools if tools is None else tools,
            parameters=parameters,
            prompt=prompt,
            tokenizer=tokenizer,
        )

    @guarded
    def outcome(
        self, *, completed: bool | None = None, exit_status: str | None = None, reward: float | None = None
    ) -> None:
        """Set how the session ended, as the agent itself sees it; recorded when the logger closes."""
        self._recording.outcome = Outcome(completed, exit_status, None if reward is None else float(reward))

    def close(self) -> None:
        """End the trace and wait until its sink has it, 30 seconds at most. A second call does nothing."""
        self._closing.now()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._note(error)
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._note(error)
        await to_thread(self.close)

    def _note(self, error: BaseException | None) -> None:
        """Take an exception that leaves the `with` for the outcome, unless one was set."""
        if error is not None and self._recording.outcome is None:
            self._recording.outcome = Outcome(completed=False, exit_status=type(error).__name__)

    def _add(self, role: Role, text: str, result: ResultHeader | None = None, run: RecordedRun | None = None) -> None:
        if not isinstance(text, str):
            raise TypeError(f"expected a text, not {type(text).__name__}")
        self._recording.add(Turn(role, (Part("text", text),), result=result, run=run))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else compact_json(value)
