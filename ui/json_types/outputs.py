"""The JSON Schema of what each command prints as JSON, derived from the types of this package.

A command that prints one of several objects (`tail`, whose lines are events) has a tuple of types.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from weaklink.ui.json_types.checks import CheckOutputJson, DataLintJson
from weaklink.ui.json_types.data import DataFixJson, DataReportJson, ScoredRowJson, VerdictJson
from weaklink.ui.json_types.database import AccessTokensJson, DatabaseCheckJson, DatabaseCopyJson, DatabaseStatsJson
from weaklink.ui.json_types.diffs import RunDiffJson, TaskDiffJson
from weaklink.ui.json_types.experiments import AskJson, DoctorJson, ProbeJson
from weaklink.ui.json_types.imports import FoundLogJson, ImportJson
from weaklink.ui.json_types.replays import InjectionJson, InjectionRowJson, ReplayJson
from weaklink.ui.json_types.rules import DetectionJson, FormatJson, RuleJson
from weaklink.ui.json_types.segmentations import BadRequestJson, SegmentationJson
from weaklink.ui.json_types.statistics import StatisticsJson
from weaklink.ui.json_types.traces import (
    FaultFoundJson,
    ListedTraceJson,
    SearchHitJson,
    ShownTraceJson,
    SpanClosedJson,
    TraceBeganJson,
    TraceEndedJson,
    TurnEndedJson,
)

OUTPUTS: Mapping[str, Any] = {
    "ask": AskJson,
    "check": CheckOutputJson,
    "data fix": DataFixJson,
    "data lint": DataLintJson,
    "data report": DataReportJson,
    "data score": ScoredRowJson,
    "data verify": VerdictJson,
    "db check": DatabaseCheckJson,
    "db copy": DatabaseCopyJson,
    "db stats": DatabaseStatsJson,
    "db token list": AccessTokensJson,
    "diff": RunDiffJson,
    "diff task": TaskDiffJson,
    "doctor": DoctorJson,
    "formats": list[FormatJson],
    "formats detect": DetectionJson,
    "import": ImportJson,
    "import discover": list[FoundLogJson],
    "list": ListedTraceJson,
    "probe": ProbeJson,
    "replay": ReplayJson,
    "replay inject": InjectionJson,
    "replay inject all": list[InjectionRowJson],
    "rule": RuleJson,
    "rules": list[RuleJson],
    "search": SearchHitJson,
    "segment": (SegmentationJson, BadRequestJson),
    "serve": ReplayJson,
    "show": ShownTraceJson,
    "stats": StatisticsJson,
    "tail": (TraceBeganJson, SpanClosedJson, FaultFoundJson, TurnEndedJson, TraceEndedJson),
}
"""What a command prints, by its words: one document, or the document of each line."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def output_schema(command: str) -> dict[str, Any]:
    """The schema of what a command prints. Raises KeyError if it prints no JSON with a schema."""
    printed = OUTPUTS[command]
    types = printed if isinstance(printed, tuple) else (printed,)
    schemas, components = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    (schema,) = schemas if len(schemas) == 1 else ({"anyOf": list(schemas)},)
    return {"$schema": _DIALECT, "title": f"weaklink {command}", **schema, "$defs": components}
