"""Samples of training data: one row parsed as a conversation with its calls, results, offered tools and annotations.

Supported shapes: the four sample types with `type` and `messages`, ShareGPT and Hermes function-calling sets
(`conversations`), OpenAI messages with `tools` or `functions`, Anthropic messages, TRL (`messages`, `prompt` and
`completion`, `prompt` with `chosen` and `rejected`), Axolotl (`conversations`, `messages`, `segments`, instruction
rows), LLaMA-Factory (ShareGPT with `tools` and `system`, instruction rows with `history`), and raw completions. Lists
of messages and tools may also be JSON texts, as in many Parquet files. The texts may contain calls in every format that
weaklink supports.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from msgspec import Struct, structs

from weaklink.inspector.apis.openai.messages import read_tools
from weaklink.inspector.chain.steps import Recovery, Step, StepOutcome
from weaklink.inspector.chain.tool_kinds import bare_name
from weaklink.inspector.checks.tools import nearest_word
from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.formats.detection import detect_format
from weaklink.inspector.formats.registry import find_format, formats
from weaklink.inspector.importers.data.training_rows import (
    REJECTED,
    Shape,
    listed_row,
    read_conversation_rows,
    read_training_row,
)
from weaklink.inspector.importers.records import NotJsonError, Row, json_within, parse_json_bytes
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.json_scanner import JsonNode, read_json
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, Part, Provenance, RecognisedBy, Role, SpanKind, ToolDefinition, Trace, Turn
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmentation import AUTO
from weaklink.inspector.text import Range, decode

ROW_PART = "row"
"""The part of a reported trace's first turn that contains the row's JSON text; see `Sample.reported_trace`."""

SAMPLE_SOURCE = "training-data"
"""The source name in the traces of samples."""

SAMPLE_TYPES = (
    "single_tool_call",
    "multi_step_tool_call",
    "parallel_tool_calls",
    "parallel_tool_call",
    "no_tool_call",
    "error_recovery",
)
"""The known values of a sample's `type`."""

_TOOL_LISTS = ("tools", "functions")
_ARRAY = lazy_pattern(r"\[\s*\{")
_DEFINITION = lazy_pattern(r'\{\s*"type"\s*:\s*"function"\s*,\s*"function"\s*:\s*\{')
_ANY_DEFINITION = lazy_pattern(r'\{\s*"(?:type|name|function|description)"\s*:')
_MAX_ARRAYS, _MAX_DEFINITIONS = 8, 500
_SAMPLE_CHARS = 16_384
_DECODER = json.JSONDecoder()
_ID_KEYS = ("id", "task_id", "sample_id", "uid", "prompt_id")


_TRAINING_SOURCES = frozenset({"openai-messages", "sharegpt", "completions", SAMPLE_SOURCE})

_DONE = (StepOutcome.OK, StepOutcome.PENDING)

_TABLE_ROW = "row"
_MESSAGE_KEYS = frozenset({"role", "from"})


class OfferedList(Struct, frozen=True):
    """The tools that a sample offers.

    `origin` is `tools`, `functions` or `system` (the text of a turn), or None if the sample has no list. `error` is the
    reason why the list, or a part of it, cannot be read, or None.
    """

    tools: tuple[ToolDefinition, ...] = ()
    origin: str | None = None
    error: str | None = None

    @property
    def is_readable(self) -> bool:
        """Whether there is a list, which may be empty, and all of it was read."""
        return self.origin is not None and self.error is None

    def find(self, name: str | None) -> ToolDefinition | None:
        """The tool with that name, or None if it is not offered."""
        return next((tool for tool in self.tools if tool.name == name), None)


class Sample(Struct, frozen=True, dict=True):
    """One row as a sample. `shape` is None if the row has no conversation; `trace` then has no turns.

    `messages` are the row's original messages, in order. If each message is one turn (Anthropic's may be several), the
    first one is the trace's turn `first_turn`. `format` is the name of the wire format to parse texts as, or `auto`.
    """

    row: DataRow
    shape: Shape | None
    trace: Trace
    messages: tuple[Json, ...] = ()
    first_turn: int = 1
    format: str = AUTO

    @property
    def file(self) -> str:
        """The file that the row was read from."""
        return self.row.file

    @property
    def record(self) -> str:
        """The row's position in its file: `line 12`."""
        return self.row.record

    @property
    def reference(self) -> str:
        """`FILE:RECORD`, such as `train.jsonl:line 12`."""
        return self.row.reference

    @cached_property
    def id(self) -> str | None:
        """The row's id, or None."""
        for key in _ID_KEYS:
            value = self.row.value.get(key)
            if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
                return str(value)
        return None

    @property
    def type(self) -> str | None:
        """The row's `type`, known or not; None if it is not a string."""
        value = self.row.value.get("type")
        return value if isinstance(value, str) else None

    @property
    def annotation(self) -> JsonObject:
        """The object `annotation`, or else `annotations`; empty if there is neither."""
        for key in ("annotation", "annotations"):
            value = self.row.value.get(key)
            if isinstance(value, dict):
                return value
        return {}

    @property
    def should_call(self) -> bool | None:
        """The value of `annotation.should_call_tool`, or None if it is not given."""
        value = self.annotation.get("should_call_tool", self.row.value.get("should_call_tool"))
        return value if isinstance(value, bool) else None

    @cached_property
    def raw_text(self) -> str:
        """The row's JSON text: the exact characters of a JSON file; for other files, as weaklink writes it."""
        return decode(self.row.raw) if self.row.raw else write_json(self.row.value, ascii_only=False)

    @cached_property
    def row_node(self) -> JsonNode | None:
        """The row's JSON with the positions of its members in `raw_text`; None if that is not strict JSON."""
        reading = read_json(self.raw_text)
        return reading.nodes[0] if reading.strict and reading.nodes else None

    def range_in_row(self, *path: str | int) -> Range:
        """The position of a member's value in `raw_text`; if it does not exist, that of the nearest enclosing value."""
        node = self.row_node
        value_range = node.range if node is not None else Range(0, len(self.raw_text))
        for step in path:
            inner: JsonNode | None = None
            if node is not None and isinstance(step, int):
                inner = node.items[step] if step < len(node.items) else None
            elif node is not None:
                member = node.member(str(step))
                inner = member.value if member is not None else None
            if inner is None:
                return value_range
            node, value_range = inner, inner.range
        return value_range

    @cached_property
    def declared_format(self) -> str | None:
        """The format that the row's member `format` names, or None if it names no known format."""
        named = self.row.value.get("format")
        if not isinstance(named, str):
            return None
        return next((format_.name for format_ in formats() if named == format_.name or named in format_.aliases), None)

    @cached_property
    def inspection(self) -> Inspection:
        """The engine's inspection of the conversation. Raises UnknownFormatError for a format that does not exist.

        Texts are parsed as `format`. If that is `auto`, they are parsed as the format that the row names, unless the
        answers contain another format and nothing of the named one.
        """
        return inspect_trace(self.trace, format=self._format_to_read)

    @property
    def _format_to_read(self) -> str:
        is_open = self.format == AUTO and not self.trace.format
        declared = self.declared_format if is_open else None
        if declared is None:
            return self.format
        answers = (turn.part("text") for turn in self.trace.turns if turn.role is Role.ASSISTANT)
        text = "\n".join(part.text[:_SAMPLE_CHARS] for part in answers if part is not None)
        is_shown = find_format(declared).confidence(text) > 0 or not detect_format(text).confidence
        return declared if is_shown else self.format

    @property
    def wire_format(self) -> str:
        """The name of the format that the calls in texts are parsed as."""
        return self.inspection.format

    @cached_property
    def offered(self) -> OfferedList:
        """The tools that the row offers, in a separate field, or else in the text of a system or user turn."""
        for key in _TOOL_LISTS:
            if self.row.value.get(key) is not None:
                return _offered_in_field(self.row.value[key], key)
        return _offered_in_text(self)

    @cached_property
    def reported_trace(self) -> Trace:
        """The trace with the row's JSON text as part `row` of its first turn, for faults of the row itself."""
        part = Part(ROW_PART, self.raw_text)
        first, *rest = self.trace.turns or (Turn(Role.USER, ()),)
        return structs.replace(self.trace, turns=(structs.replace(first, parts=(*first.parts, part)), *rest))

    @cached_property
    def text_parts(self) -> tuple[tuple[int, Turn, Part], ...]:
        """Each turn with a text: its number (from 1), the turn, and its part `text`."""
        numbered = ((number, turn, turn.part("text")) for number, turn in enumerate(self.trace.turns, 1))
        return tuple((number, turn, part) for number, turn, part in numbered if part is not None)

    def texts(self, role: Role) -> Sequence[str]:
        """The text of each turn of a role, without calls, reasoning and markup."""
        return self._texts.get(role, ())

    @cached_property
    def _texts(self) -> dict[Role, list[str]]:
        texts: dict[Role, list[str]] = {}
        for part in self.inspection.parts:
            turn = self.trace.turns[part.turn - 1]
            text = turn.part("text") if part.part == "text" else None
            if text is not None:
                kinds = (SpanKind.TEXT, SpanKind.TOOL_RESULT) if turn.role is Role.TOOL else (SpanKind.TEXT,)
                words = "".join([span.inner.of(text.text) for span in part.spans if span.kind in kinds])
                texts.setdefault(turn.role, []).append(words)
        return texts


def read_sample(row: DataRow, *, format: str = AUTO, is_public: bool = True) -> Sample:
    """The sample of a row. Never raises, whatever the row contains. `is_public` is that of `read_training_row`."""
    unit, _, number = row.record.partition(" ")
    raw = row.raw or write_json(row.value).encode()
    read = read_training_row(
        Row(unit, int(number) if number.isdecimal() else row.number, row.value, raw), is_public=is_public
    )
    if read is None:
        return Sample(row, None, _placed(Trace(()), row), format=format)
    row = row if read.public is None else structs.replace(row, value=read.public)
    shape, value, messages, trace = read.shape, read.value, read.messages, read.trace
    before = len(trace.turns) - len(messages) if messages else 0
    first = 2 if before == 1 and isinstance(value.get("system"), str) else 1
    return Sample(row, shape, _placed(trace, row), tuple(messages), first, format)


def as_listed(row: DataRow) -> DataRow:
    """The row as rows that are made from it are written; see `listed_row`."""
    value = listed_row(row.value)
    return row if value is row.value else structs.replace(row, value=value, raw=b"")


def without_rejected(given: JsonObject, made: JsonObject, what: str) -> JsonObject:
    """A row that was made from another one, without the rejected answer of a preference; its `dropped` says so.

    `what` is what was done with the chosen answer.
    """
    name = next((key for key in REJECTED if given.get(key) is not None), None)
    if name is None:
        return made
    kept = {key: value for key, value in made.items() if key not in REJECTED}
    dropped = made.get("dropped")
    return {
        **kept,
        "dropped": [*(dropped if isinstance(dropped, list) else ()), f"`{name}`: only the chosen answer is {what}."],
    }


def is_training_record(trace: Trace, source: str) -> bool:
    """Whether a trace is a row of a training set: it is from a training source, and has no session id and no time."""
    return source in _TRAINING_SOURCES and trace.recognised_by is RecognisedBy.RECORD and trace.started is None


def inspected_sample(sample: Sample, inspection: Inspection) -> Sample:
    """The same sample with an inspection of its trace made with other options.

    The inspection must include every rule, because faults are selected after they get their codes.
    """
    kept = structs.replace(sample)
    vars(kept)["inspection"] = inspection  # fills the property's cache, so that nothing is inspected twice
    return kept


def _placed(trace: Trace, row: DataRow) -> Trace:
    kept = structs.replace(trace.provenance, source=SAMPLE_SOURCE, file=row.file, record=row.record)
    return structs.replace(
        trace, provenance=kept if trace.provenance != Provenance() else structs.replace(kept, warnings=())
    )


def _offered_in_field(value: Json, key: str) -> OfferedList:
    listed = value
    if isinstance(value, str):
        try:
            listed = parse_json_bytes(value.encode("utf-8", "surrogatepass")) if value.strip() else []
        except NotJsonError as error:
            return OfferedList((), key, f"`{key}` is not valid JSON: {error}")
    if not isinstance(listed, list):
        return OfferedList((), key, f"`{key}` is not a list of tool definitions")
    listed = [json_within(item) for item in listed]
    tools = read_tools(listed)
    for number, tool in enumerate(tools, 1):
        if not tool.name or not _is_named(listed[number - 1]):
            return OfferedList(tuple(tool for tool in tools if tool.name), key, f"tool {number} in `{key}` has no name")
    return OfferedList(tools, key)


def _is_named(definition: Json) -> bool:
    """Whether a definition has a name, if it is a function's."""
    if not isinstance(definition, dict):
        return False
    function = definition.get("function")
    return not isinstance(function, dict) or bool(function.get("name"))


def _offered_in_text(sample: Sample) -> OfferedList:
    tools: list[ToolDefinition] = []
    error: str | None = None
    is_there = False
    for part in sample.inspection.parts:
        if sample.trace.turns[part.turn - 1].role not in (Role.SYSTEM, Role.USER):
            continue
        tools += part.definitions
        spans = [span.range for span in part.spans if span.kind is SpanKind.TOOL_DEFINITIONS]
        is_there = is_there or bool(spans) or bool(part.definitions)
        for diagnostic in sample.inspection.diagnostics:
            is_here = (diagnostic.location.turn, diagnostic.location.part) == (part.turn, part.part)
            if (
                is_here
                and diagnostic.rule.severity is Severity.ERROR
                and any(span.covers(diagnostic.range) for span in spans)
            ):
                error = error or diagnostic.fault.message
    if is_there:
        return OfferedList(tuple(tools), "system", error)
    return _listed_in_words(sample.trace)


def _listed_in_words(trace: Trace) -> OfferedList:
    """A JSON array of definitions in a system turn, or single definitions, regardless of the text around them."""
    texts = [part.text for turn in trace.turns if turn.role is Role.SYSTEM and (part := turn.part("text")) is not None]
    for text in texts:
        for _, value in _values_at(_ARRAY, text, _MAX_ARRAYS):
            if all(map(_is_definition, value)):
                return OfferedList(read_tools(value), "system")
    single_definitions = [value for text in texts for value in _definitions_in(text)]
    return OfferedList(read_tools(single_definitions), "system") if single_definitions else OfferedList()


def definitions_in(text: str) -> Iterator[tuple[Range, Json]]:
    """The tool definitions in a text, in an array or not, each with its range."""
    match = _ANY_DEFINITION.search(text)
    while match is not None:
        position = match.end()
        for definition_range, value in _values_at(_ANY_DEFINITION, text, 1, match.start()):
            if _is_definition(value):
                yield definition_range, value
                position = definition_range.end
        match = _ANY_DEFINITION.search(text, position)


def _definitions_in(text: str) -> Iterator[Json]:
    """The definitions that are not in an array, as in Llama 3's template."""
    end = 0
    for definition_range, value in _values_at(_DEFINITION, text, _MAX_DEFINITIONS):
        if definition_range.start >= end and _is_definition(value):
            yield value
            end = definition_range.end


def _values_at(begin: re.Pattern[str], text: str, most: int, start: int = 0) -> Iterator[tuple[Range, Any]]:
    """The JSON values that begin at the first `most` matches of a pattern from `start` on."""
    for match in islice(begin.finditer(text, start), most):
        try:
            value, end = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        yield Range(match.start(), end), value


def _is_definition(value: Json) -> bool:
    inner = value.get("function", value) if isinstance(value, dict) else None
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
        return False
    return any(key in inner for key in ("description", "parameters", "input_schema"))


def redacted(sample: Sample, redactor: Redactor | None = None) -> Sample:
    """The sample with its secrets masked, with equal lengths, in the conversation and in the row's text and values.

    `redactor` caches texts without secrets, such as system prompts that many samples share.
    """
    redactor = redactor or Redactor()
    text = redactor.text(sample.raw_text)
    trace = redactor.trace(sample.trace)
    if text == sample.raw_text and trace == sample.trace:
        return sample
    raw = text.encode("utf-8", "surrogatepass")
    return structs.replace(
        sample, row=structs.replace(sample.row, raw=raw, value=_value(raw) or sample.row.value), trace=trace
    )


def _value(raw: bytes) -> JsonObject | None:
    try:
        value = parse_json_bytes(raw)
    except NotJsonError:
        return None
    return value if isinstance(value, dict) else None


def correction_of(step: Step, steps: Sequence[Step]) -> Step | None:
    """The step that corrects a failed one; None if none does, or if the failed call got no result.

    That is the step by which the chain counts it as recovered, or else a call in the next turn with calls that is ok or
    pending: of the same tool, of a tool with a similar name if the failed name is unknown, or of any tool if the failed
    name is unreadable.
    """
    if not step.outcome.failed or step.result is None or step.recovery is Recovery.ANSWERED:
        return None
    seen = (step.result_location or step.location).turn
    later = [later_step for later_step in steps if later_step.location.turn > max(seen, step.location.turn)]
    if step.recovered_by is not None:
        recovery = next((later_step for later_step in later if later_step.number == step.recovered_by), None)
        if recovery is not None:
            return recovery
    following = (
        [later_step for later_step in later if later_step.location.turn == later[0].location.turn] if later else []
    )
    return next(
        (later_step for later_step in following if later_step.outcome in _DONE and _is_same_tool(step, later_step)),
        None,
    )


def _is_same_tool(failed: Step, later: Step) -> bool:
    if not failed.call.name or not later.call.name:
        return not failed.call.name
    failed_name, later_name = bare_name(failed.call.name), bare_name(later.call.name)
    return failed_name == later_name or (
        failed.outcome is StepOutcome.UNKNOWN_TOOL and nearest_word(failed_name, [later_name]) is not None
    )


def deliberate_steps(sample: Sample) -> tuple[Step, ...]:
    """The failed calls that the sample shows deliberately, each followed by its correction."""
    steps = tuple(sample.inspection.chain.steps)
    is_marked = sample.type == "error_recovery" or bool(sample.row.value.get("injected"))
    return tuple(step for step in steps if _is_deliberate(step, steps, is_marked=is_marked))


def _is_deliberate(step: Step, steps: tuple[Step, ...], *, is_marked: bool) -> bool:
    if not step.outcome.failed:
        return False
    later = [later_step for later_step in steps if later_step.number > step.number and not later_step.outcome.failed]
    if is_marked:
        return bool(later)
    has_refusal = step.error is not None or step.outcome is StepOutcome.ERROR_RESULT
    same_tool = any(later_step.call.name == step.call.name for later_step in later)
    return has_refusal and (same_tool or (step.recovery is not None and step.recovery.is_sure))


class SampleRows:
    """Reads the rows of a file in parallel with its traces, forwards and only as far as needed."""

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._rows: Iterator[Row | Skipped] | None = None

    def of(self, trace: Trace, source: str, format: str = AUTO) -> Sample | None:
        """The row from which a trace was read, its texts parsed as `format`; traces must be in file order.

        None if the trace is not a row of training data. `source` is the file's source. The sample is not redacted.
        """
        row = self._row(trace.provenance.record) if is_training_record(trace, source) else None
        sample = read_sample(row, format=format) if row is not None else None
        return sample if sample is not None and sample.shape is not None else None

    def _row(self, record: str) -> DataRow | None:
        """The row at this position; None if there is none, or it is a single message of a conversation."""
        if self._rows is None:
            self._rows = read_conversation_rows(self._file)
        for row in self._rows:
            if row.record == record:
                if isinstance(row, Skipped) or row.value.keys() & _MESSAGE_KEYS:
                    return None
                raw = b"" if row.unit == _TABLE_ROW else row.raw  # a table row's bytes are a conversion, not the file's
                return DataRow(self._file.name, record, row.number, row.value, raw)
        return None
