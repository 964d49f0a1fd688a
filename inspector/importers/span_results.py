"""What spans of tools tell, as the results that they gave: put behind the calls that no request answers."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from inspector.importers.spans import ToolRun, TracedSpan, moment_of
from inspector.model import CallHeader, Part, ResultHeader, Role, Turn
from inspector.sessions.fingerprints import arguments_by_value


@dataclass(slots=True, eq=False)
class _UnansweredCall:
    """A call that no turn answers: in which trace, behind which turn."""

    at: tuple[int, int]
    call: CallHeader
    arguments: str
    is_taken: bool = False


@dataclass(slots=True)
class ToolResults:
    """The results of a session's tool spans, by the place of the answer that they belong behind.

    `behind[trace][turn]` are the results to stand behind that turn and those that follow it already, both counted from
    0. `unasked` counts the runs that no call asked for.
    """

    behind: dict[int, dict[int, list[Turn]]] = field(default_factory=dict)
    unasked: int = 0


def results_of(traces: Sequence[Sequence[Turn]], runs: Iterable[TracedSpan]) -> ToolResults:
    """Find the call for each run of a tool: by its id, else by name and arguments, else by name, the oldest first.

    A run whose call has its result in the traces already adds nothing. Linear in turns and runs.
    """
    open_calls = _OpenCalls(traces)
    found = ToolResults()
    for span in sorted(runs, key=moment_of):
        run = span.run
        if run is None or open_calls.is_answered(run):
            continue
        one = open_calls.take(run)
        if one is None:
            found.unasked += 1
        elif run.result is not None:
            trace, turn = one.at
            found.behind.setdefault(trace, {}).setdefault(turn, []).append(_result(run, one.call))
    return found


def _result(run: ToolRun, call: CallHeader) -> Turn:
    header = ResultHeader(call.id or run.call_id or None, run.name or call.name, run.failed)
    return Turn(Role.TOOL, (Part("text", run.result or ""),), "tool", result=header)


class _OpenCalls:
    """The calls of a session that nothing answers, and the answers to the others."""

    def __init__(self, traces: Sequence[Sequence[Turn]]) -> None:
        self._answered: set[str] = set()
        self._by_id: dict[str, _UnansweredCall] = {}
        self._by_words: dict[tuple[str, str], deque[_UnansweredCall]] = {}
        self._by_name: dict[str, deque[_UnansweredCall]] = {}
        self._closed: dict[tuple[str, str], int] = {}
        for number, turns in enumerate(traces):
            self._read(number, turns)

    def is_answered(self, run: ToolRun) -> bool:
        """Whether the traces hold the result of this run; each anonymous result counts for one run."""
        if run.call_id in self._answered:
            return True
        if run.call_id in self._by_id:
            return False
        words = (run.name, arguments_by_value(run.arguments))
        if self._closed.get(words, 0) > 0:
            self._closed[words] -= 1
            return True
        return False

    def take(self, run: ToolRun) -> _UnansweredCall | None:
        """The call that a run is of, which is taken then; None where no call is open."""
        if run.call_id and (one := self._by_id.get(run.call_id)) is not None:
            found = None if one.is_taken else one
            one.is_taken = True
            return found
        words = (run.name, arguments_by_value(run.arguments))
        return _first(self._by_words.get(words)) or _first(self._by_name.get(run.name))

    def _read(self, number: int, turns: Sequence[Turn]) -> None:
        waiting: list[_UnansweredCall] = []
        for at, turn in enumerate(turns):
            if turn.role is Role.TOOL and turn.result is not None:
                self._answer(waiting, turn.result)
            elif turn.role is Role.ASSISTANT:
                self._leave(waiting)
                texts = {part.name: part.text for part in turn.parts}
                waiting = [
                    _UnansweredCall((number, at), call, arguments_by_value(texts.get(call.part, "")))
                    for call in turn.calls
                ]
        self._leave(waiting)

    def _answer(self, waiting: list[_UnansweredCall], result: ResultHeader) -> None:
        """The result of one of the calls that wait: by its id, or the first where it has none."""
        if result.call_id:
            self._answered.add(result.call_id)
        for one in waiting:
            if not one.is_taken and (not result.call_id or one.call.id in {None, result.call_id}):
                one.is_taken = True
                words = (one.call.name or "", one.arguments)
                self._closed[words] = self._closed.get(words, 0) + 1
                return

    def _leave(self, waiting: list[_UnansweredCall]) -> None:
        for one in waiting:
            if one.is_taken:
                continue
            if one.call.id:
                self._by_id.setdefault(one.call.id, one)
            name = one.call.name or ""
            self._by_words.setdefault((name, one.arguments), deque()).append(one)
            self._by_name.setdefault(name, deque()).append(one)


def _first(waiting: deque[_UnansweredCall] | None) -> _UnansweredCall | None:
    while waiting:
        one = waiting.popleft()
        if not one.is_taken:
            one.is_taken = True
            return one
    return None
