"""Checks of arguments against JSON Schema: what ours cost beside jsonschema-rs alone and beside jsonschema.

PERF.md measured, in microseconds (jsonschema, jsonschema-rs): realistic valid arguments 22.5 and 1.85; invalid with all
errors 27 and 5.7; 100 rows 5544 and 38; building one validator 66 (and 1270 to check the schema) and 29.
"""

import itertools
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import jsonschema_rs

from benchmarks.measuring import best_of, goal, print_line
from weaklink.inspector.checks.arguments import check_arguments
from weaklink.inspector.checks.prepared_schema import prepared_schema
from weaklink.inspector.checks.tools import OfferedTools
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.model import Json, ToolCall, ToolDefinition
from weaklink.inspector.text import Range

_ROW: JsonObject = {
    "type": "object",
    "properties": {
        "sku": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4}$"},
        "count": {"type": "integer", "minimum": 1},
        "price": {"type": "number", "minimum": 0},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["sku", "count"],
    "additionalProperties": False,
}
_ORDER: JsonObject = {
    "type": "object",
    "properties": {
        "customer": {"type": "string", "minLength": 1, "maxLength": 80},
        "speed": {"type": "string", "enum": ["standard", "express", "overnight"]},
        "paid": {"type": "boolean"},
        "address": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}, "zip": {"type": "string"}},
            "required": ["street", "city"],
        },
        "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}, "maxItems": 1_000},
    },
    "required": ["customer", "speed", "rows"],
    "additionalProperties": False,
    "$defs": {"row": _ROW},
}
_GOOD_ROW: JsonObject = {"sku": "ABC-1234", "count": 2, "price": 9.95, "note": None}
_VALID: JsonObject = {
    "customer": "Ann Example",
    "speed": "express",
    "paid": True,
    "address": {"street": "Storgata 1", "city": "Tromsø", "zip": "9008"},
    "rows": [_GOOD_ROW, _GOOD_ROW],
}
_INVALID: JsonObject = {
    **_VALID,
    "speed": "fast",
    "paid": "yes",
    "address": {"street": 1},
    "rows": [{**_GOOD_ROW, "count": 0}],
}
_ROWS: list[Json] = [_GOOD_ROW] * 100
_LARGE: JsonObject = {**_VALID, "rows": _ROWS}


def schema() -> None:
    """Verdicts, reasons, a large payload and the making of a validator."""
    print_line("schema: one call's arguments; ours also finds the tool, judges the text safe and words what is wrong")
    ours = OfferedTools([ToolDefinition("order", parameters=_ORDER)])
    rust = jsonschema_rs.validator_for(_ORDER, offline=True)
    python = jsonschema.Draft202012Validator(_ORDER)
    for name, value in (("valid", _VALID), ("100 rows", _LARGE)):
        ways: dict[str, Callable[[], object]] = {
            "weaklink": partial(_checked, _call(value), ours),
            "jsonschema-rs": partial(rust.is_valid, value),
            "jsonschema": partial(_all_of, python, value),
        }
        _against(f"{name} arguments", best_of(ways))
    best = best_of(
        {
            "weaklink": partial(_checked, _call(_INVALID), ours),
            "jsonschema-rs": partial(_all_of, rust, _INVALID),
            "jsonschema": partial(_all_of, python, _INVALID),
        }
    )
    _against("invalid arguments, all errors", best)
    _against("making a validator", best_of(_makers()))


def _against(name: str, best: Mapping[str, float]) -> None:
    print_line(f"  {name}: " + ", ".join(f"{way} {took * 1e6:,.1f} us" for way, took in best.items()))
    print_line(f"    of jsonschema-rs alone: {best['weaklink'] / best['jsonschema-rs']:6.2f}")
    print_line(f"    of jsonschema: {goal(best['weaklink'] / best['jsonschema'], 1, at_least=False)}")


def _makers() -> dict[str, Callable[[], object]]:
    """Each makes a validator for a schema that it never saw, since ours are cached by content."""
    numbers = itertools.count()

    def fresh() -> dict[str, Any]:
        return {**_ORDER, "description": f"order {next(numbers)}"}

    def python() -> object:
        made = fresh()
        jsonschema.Draft202012Validator.check_schema(made)
        return jsonschema.Draft202012Validator(made)

    return {
        "weaklink": lambda: prepared_schema(fresh()),
        "jsonschema-rs": lambda: jsonschema_rs.validator_for(fresh(), offline=True),
        "jsonschema": python,
    }


def _checked(call: ToolCall, offered: OfferedTools) -> object:
    return list(check_arguments(call, offered))


def _all_of(validator: Any, value: Json) -> object:
    return list(validator.iter_errors(value))


def _call(value: Any) -> ToolCall:
    raw = json.dumps(value, ensure_ascii=False)
    whole = Range(0, len(raw))
    return ToolCall("order", value, raw, valid=True, range=whole, name_range=whole, arguments_range=whole)
