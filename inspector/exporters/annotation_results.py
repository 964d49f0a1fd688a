"""What a step's result holds, as an annotation tells it: its kind, its JSON value, the paths of what is in it."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from inspector.chain.error_results import is_empty
from inspector.chain.steps import Step, StepOutcome
from inspector.exporters.annotation_names import ANY, path_text
from inspector.model import Json
from inspector.wire.json_text import parse_json

_MOST_PATHS = 40
_MOST_VISITED = 4_000
_DEEPEST = 24
_NOT_JSON: Any = object()


class StepResult:
    """The result of one step. Its JSON is decoded when first asked for, once."""

    def __init__(self, step: Step, variable: str) -> None:
        self._step, self.variable = step, variable

    @property
    def kind(self) -> str | None:
        """`error`, `empty`, `object`, `array`, `text`; None where there is no result."""
        step = self._step
        if step.result is None:
            return None
        if step.outcome is StepOutcome.ERROR_RESULT:
            return "error"
        if is_empty(step.result):
            return "empty"
        return "object" if isinstance(self._value, dict) else "array" if isinstance(self._value, list) else "text"

    def produces(self, used: Sequence[str]) -> list[Json]:
        """Paths into the result, at most forty: `used`, those that later steps take from, then all others in order.

        In these, `[*]` stands for every element of a list. A result that is no JSON is one text.
        """
        if self._step.result is None or not self._step.result.content.strip():
            return []
        if self._value is _NOT_JSON:
            return [self.variable]
        found: dict[str, None] = dict.fromkeys(used[:_MOST_PATHS])
        for path in _shape(self._value):
            if len(found) >= _MOST_PATHS:
                break
            found.setdefault(path_text(self.variable, path))
        return list(found)

    def path(self, segments: Sequence[str]) -> list[str | int]:
        """The keys and indexes of a pointer into the result: digits are an index where a list is."""
        return typed_path(self._value, segments)

    def key(self, segments: Sequence[str], text: str) -> str | None:
        """The member of the object at a place whose key is this text, in whatever case; None where none is."""
        at = self._at(segments)
        if not isinstance(at, dict):
            return None
        wanted = text.casefold()
        return next((key for key in at if key.casefold() == wanted), None)

    def holds(self, segments: Sequence[str], value: Json) -> bool:
        """Whether exactly this value stands at a place of the result; of a result that is no JSON, the whole text."""
        if self._value is _NOT_JSON:
            return self._step.result is not None and self._step.result.content.strip() == value
        at = self._at(segments)
        return at is not _NOT_JSON and type(at) is type(value) and bool(at == value)

    def _at(self, segments: Sequence[str]) -> Any:
        at = self._value
        for part in self.path(segments):
            match at, part:
                case dict(), str() if part in at:
                    at = at[part]
                case list(), int() if part < len(at):
                    at = at[part]
                case _:
                    return _NOT_JSON
        return at

    @cached_property
    def _value(self) -> Any:
        text = self._step.result.content.strip() if self._step.result is not None else ""
        if text[:1] not in ("{", "["):
            return _NOT_JSON
        try:
            return parse_json(text)
        except ValueError:
            return _NOT_JSON


def typed_path(value: Json, segments: Sequence[str]) -> list[str | int]:
    """The keys and indexes that `segments` of a JSON Pointer mean in `value`."""
    path: list[str | int] = []
    for part in segments:
        if isinstance(value, list) and part.isdecimal():
            index = int(part)
            path.append(index)
            value = value[index] if index < len(value) else None
        else:
            path.append(part)
            value = value.get(part) if isinstance(value, dict) else None
    return path


def _shape(value: Json) -> Iterator[list[str | int]]:
    """The paths of all that holds nothing else, depth first, after at most 4,000 values."""
    waiting: list[tuple[list[str | int], Json]] = [([], value)]
    for _ in range(_MOST_VISITED):
        if not waiting:
            return
        path, at = waiting.pop()
        if isinstance(at, dict) and at and len(path) < _DEEPEST:
            waiting += reversed([([*path, key], inner) for key, inner in at.items()])
        elif isinstance(at, list) and at and len(path) < _DEEPEST:
            waiting += reversed([([*path, ANY], inner) for inner in at[:_MOST_VISITED]])
        else:
            yield path
