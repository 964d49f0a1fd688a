"""What a tool's `parameters` can be meant to be, where they are no JSON Schema as it should be.

Each fault becomes a problem with its place; it is mended where it is plain what it means, and left out where it is not.
"""

import copy
from dataclasses import dataclass

from inspector.checks.json_schema import SchemaFaults, Validator, build
from inspector.checks.keyword_mending import without_faults
from inspector.checks.object_schemas import as_object_schema, takes_objects
from inspector.checks.schema_circles import circles
from inspector.checks.schema_problems import Problem
from inspector.checks.schema_references import leads_nowhere, without_reference
from inspector.checks.unsafe_values import DEPTH_OF_SCHEMAS, unsafe_part
from inspector.model import Json
from inspector.rules import schema as rules

_LARGEST = 50_000
_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class SchemaReading:
    """A schema with its validator, both None where there is none, and what was wrong with it.

    `takes_objects` says that it is a usual tool schema, whose arguments are an object.
    """

    problems: tuple[Problem, ...]
    takes_objects: bool
    schema: Json = None
    validator: Validator | None = None


def screened(parameters: Json) -> str | None:
    """Why a schema may not reach a validator at all; None where it may."""
    found = unsafe_part(parameters, deepest=DEPTH_OF_SCHEMAS, largest=_LARGEST)
    return f"The schema was not used: {found.why}." if found else None


def mended(parameters: Json) -> SchemaReading:
    """`parameters`, which are screened, as a schema that a validator takes.

    `parameters` are left as they are, and are themselves the schema where nothing is wrong with them.
    """
    if not isinstance(parameters, dict | bool):
        message = f"`parameters` is {_article(parameters)}, not a schema; arguments cannot be checked against it."
        problem = Problem(rules.INVALID_TOOL_SCHEMA, (), message, "Write a JSON Schema with `type: object`.")
        return SchemaReading((problem,), takes_objects=True)
    problems: list[Problem] = []
    schema: Json = parameters
    if isinstance(parameters, dict):
        schema, problems = as_object_schema(parameters)
    problems += circles(schema)
    is_usual = takes_objects(schema)
    for at in range(_ROUNDS):
        built = build(schema)
        if not isinstance(built, SchemaFaults):
            return SchemaReading(tuple(dict.fromkeys(problems)), is_usual, schema, built)
        schema = copy.deepcopy(schema) if at == 0 else schema
        found, is_lost = _taken_out(schema, built)
        problems += found
        if is_lost:
            return SchemaReading(tuple(problems), is_usual)
    message = "The schema has too many faults to be used; arguments are not checked against it."
    return SchemaReading((*problems, Problem(rules.SCHEMA_NOT_CHECKED, (), message)), is_usual)


def _taken_out(schema: Json, faults: SchemaFaults) -> tuple[list[Problem], bool]:
    """The faults as problems, gone from `schema` now; and whether that leaves no schema."""
    if faults.refused:
        message = f"The schema was not used: the schema library refuses it ({faults.refused})."
        return [Problem(rules.SCHEMA_NOT_CHECKED, (), message)], True
    if faults.paths:
        return list(without_faults(schema, faults.paths)), faults.paths == ((),)
    dropped = list(without_reference(schema, faults.unresolved))
    return dropped or [Problem(rules.UNRESOLVABLE_REFERENCE, (), leads_nowhere(faults.unresolved))], not dropped


def _article(value: Json) -> str:
    names = {str: "a string", list: "a list", int: "a number", float: "a number"}
    return names.get(type(value), "no object")
