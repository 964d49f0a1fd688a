"""What both schemas of `llm`'s log database have in common: an answer's facts, results, fragments and tools."""

from dataclasses import dataclass, field

from inspector.importers.identity import instant, text_of
from inspector.importers.llm_tables import LlmTables, json_in
from inspector.importers.source import JsonObject
from inspector.model import (
    ExternalId,
    Generation,
    Instant,
    InstantSource,
    Json,
    ParentTrace,
    Part,
    Provenance,
    RecognisedBy,
    ResultHeader,
    Role,
    ToolDefinition,
    ToolsOrigin,
    Trace,
    Turn,
    TurnFlag,
    Usage,
)
from inspector.wire.finish_reasons import finish_meaning
from inspector.wire.json_text import compact_json

ATTACHMENTS = "attachments are left out"
"""What a trace's provenance says where there were any."""

_NOT_STORED = (
    "the source keeps no chunks, and neither an answer nor a request that failed",
    "the source keeps the arguments of calls as it parsed them",
)


@dataclass(slots=True)
class LlmTurns:
    """Turns as they are read, and what is to be said of them."""

    turns: list[Turn] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=lambda: dict.fromkeys(_NOT_STORED))
    started: Instant | None = None
    model: str = ""

    def trace(self, ids: ExternalId, name: str, parent: ParentTrace | None, version: str) -> Trace:
        """The turns as a trace, which is known by `ids`."""
        return Trace(
            turns=tuple(self.turns),
            name=name,
            model=self.model,
            started=self.started,
            external_ids=(ids,),
            recognised_by=RecognisedBy.FIELD,
            parent=parent,
            provenance=Provenance(
                source_version=version, record=f"{ids.name} {ids.value}", warnings=tuple(self.warnings)
            ),
        )

    def generation(self, row: JsonObject, tools: tuple[ToolDefinition, ...]) -> Generation:
        """What a response or turn says of its answer."""
        began = instant(row.get("datetime_utc"))
        self.started = self.started or began
        self.model = self.model or text_of(row, "model")
        took = row.get("duration_ms")
        answer = json_in(row.get("response_json"))
        details = json_in(row.get("token_details"))
        finish = text_of(answer, "finish_reason", "stop_reason")
        ended = (
            Instant(began.at_s + took / 1000, InstantSource.DERIVED)
            if began and isinstance(took, int | float)
            else None
        )
        return Generation(
            requested_model=text_of(row, "model"),
            answered_model=text_of(row, "resolved_model") or text_of(answer, "model"),
            parameters="" if text_of(row, "options_json") == "{}" else text_of(row, "options_json"),
            tools=tools,
            tools_origin=ToolsOrigin.REQUEST if tools else None,
            started=began,
            ended=ended,
            usage=Usage(
                _number(row.get("input_tokens")),
                _number(row.get("output_tokens")),
                _number(_object(details.get("completion_tokens_details")).get("reasoning_tokens")),
                _number(_object(details.get("prompt_tokens_details")).get("cached_tokens")),
            ),
            finish_reason=finish or None,
            finish=finish_meaning(finish) if finish else None,
        )


def result_turn(value: JsonObject, flags: frozenset[TurnFlag] = frozenset()) -> Turn:
    """A result that a tool gave; where it raised an exception and gave none, the exception's words."""
    failed = text_of(value, "exception")
    header = ResultHeader(
        text_of(value, "tool_call_id") or None, text_of(value, "name") or None, True if failed else None
    )
    words = json_text(value.get("output", "")) or failed
    return Turn(Role.TOOL, (Part("text", words),), "tool", result=header, flags=flags)


def fragments_of(tables: LlmTables, table: str, owner: Json) -> str:
    """The fragments that belong to a response or a part, in their order, joined by blank lines as `llm` does."""
    listed = sorted(tables.of(table, owner), key=lambda row: _number(row.get("order")) or 0)
    found = tables.by_key("fragments", "id", (row.get("fragment_id") for row in listed))
    return "\n\n".join(text_of(row, "content") for row in found)


def tools_of(rows: list[JsonObject]) -> tuple[ToolDefinition, ...]:
    """The definitions that rows of the table `tools` hold."""
    return tuple(
        ToolDefinition(
            text_of(row, "name"),
            text_of(row, "description"),
            json_in(row.get("input_schema")) or None,
            compact_json({key: row.get(key) for key in ("name", "description", "input_schema")}),
        )
        for row in rows
    )


def json_text(value: Json) -> str:
    """A text as it stands, any other value as JSON, `""` for null."""
    return value if isinstance(value, str) else "" if value is None else compact_json(value)


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _number(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
