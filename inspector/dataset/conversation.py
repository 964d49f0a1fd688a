"""Rewrites a conversation for another family: the model's turns, the results, and how the tools are told."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby

from inspector.dataset.converted_text import written
from inspector.dataset.fitting import Fitting
from inspector.dataset.messages import read_answer, read_results, role_of, shape_of, with_object, with_text
from inspector.formats.completion.pieces import tidy
from inspector.formats.format import Format
from inspector.formats.template import Template
from inspector.formats.templates.registry import find_template
from inspector.formats.writing import json_of
from inspector.model import Json, Role, ToolCall, ToolDefinition, ToolResult


@dataclass(slots=True)
class ConversationConverter:
    """Converts the messages of one row, in order; `dropped` grows with what does not survive.

    `tools` are those that the calls are read by.
    """

    source: Format
    target: Format
    tools: tuple[ToolDefinition, ...]
    dropped: list[str] = field(default_factory=list)
    _template: Template | None = field(init=False)
    _fitting: Fitting = field(init=False)
    _unanswered: deque[tuple[ToolCall, str | None]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._template = find_template(self.target)
        self._fitting = Fitting(self.target, self.tools)

    def convert(self, messages: list[Json]) -> list[Json]:
        """The messages in the target's words; what is neither an answer nor a result is kept as it is."""
        converted: list[Json] = []
        numbered = list(enumerate(messages, start=1))
        for are_results, group in groupby(numbered, key=lambda one: bool(self._results(one[1]))):
            if are_results and self._template is not None:
                converted += self._returned([message for _, message in group if isinstance(message, dict)])
            else:
                converted += (self._message(message, number) for number, message in group)
        if self._template is None and any(map(self._results, messages)):
            name = self.target.name
            self.dropped.append(f"How `{name}` presents results: weaklink does not know; they are as they were.")
        return converted

    def _results(self, message: Json) -> tuple[ToolResult, ...]:
        return read_results(message, self.source) if isinstance(message, dict) else ()

    def _message(self, message: Json, number: int) -> Json:
        if not isinstance(message, dict) or role_of(message) is not Role.ASSISTANT:
            return message
        try:
            read = read_answer(message, self.source, self.tools)
        except ValueError as error:
            raise ValueError(f"message {number}: {error}") from error
        notes = list(read.notes)
        text = message.get(shape_of(message).text_key)
        pieces = self._fitting.fit(read.pieces, text if isinstance(text, str) else "", notes)
        self._unanswered = deque(self._fitting.fitted)
        completion = written(pieces, self.target, self.tools, notes)
        self.dropped += (f"Message {number}: {note}" for note in completion.dropped)
        template = self._template
        if template is not None and template.answer is not None and shape_of(message).is_structured:
            return with_object(message, template.answer(tidy(pieces)))
        return with_text(message, completion.prompt + completion.text)

    def _returned(self, messages: list[dict[str, Json]]) -> Iterator[Json]:
        """Messages with results, as the family hands them back."""
        template = self._template
        assert template is not None
        rows = [(message, [self._paired(one) for one in self._results(message)]) for message in messages]
        if template.returned is not None and template.shares_turn:
            rows = [(rows[0][0], [one for _, results in rows for one in results])]
        elif not template.shares_turn:
            rows = [(message, [one]) for message, results in rows for one in results]
        for message, results in rows:
            yield self._handed_back(message, results, template)

    def _handed_back(self, message: dict[str, Json], results: list[ToolResult], template: Template) -> Json:
        shape = shape_of(message)
        if template.returned is not None:
            said = template.returned(results)
            return with_object(message, said) if shape.is_structured else with_text(message, json_of(said))
        changed = with_text(message, template.results(results))
        if role_of(message) is not Role.TOOL:
            changed[shape.role_key] = shape.tool
        return changed

    def _paired(self, result: ToolResult) -> ToolResult:
        """The result with the name of its call and the id that the call bears now: by id, else in order."""
        waiting = self._unanswered
        found = next((one for one in waiting if result.call_id is not None and one[0].id == result.call_id), None)
        if found is None and waiting and (result.call_id is None or all(call.id is None for call, _ in waiting)):
            found = waiting[0]
        if found is None:
            return replace(result, call_id=self._fitting.ids.get(result.call_id or "", result.call_id))
        waiting.remove(found)
        call, call_id = found
        return replace(result, name=result.name or call.name, call_id=call_id)
