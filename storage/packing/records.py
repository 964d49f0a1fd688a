"""The facts of traces, turns and tools as plain values, ready to pack.

The facts of a trace or a turn are the record of its line in a trace file (`inspector.trace_file.lines`), without what
has columns of its own: turns and provenance; the role, parts and tools of a turn. msgspec derives both directions from
the Structs. What differs from a line:

    {"usage": {"input_tokens": 5}}          fields without a value are left out of counts and headers of results, too
    {"run": {"result": [120, "x", 7]}}      a result of which the first 120 and the last 7 code points are in the text

Packed facts begin with a byte for their version. Those without it are of weaklink before 0.3.0 (`former_records`).
"""

from typing import Any

import msgspec
from msgspec import structs

from weaklink.inspector import model
from weaklink.inspector.text import Range, shared_prefix, shared_suffix
from weaklink.inspector.trace_file.lines import Record, trace_record, turn_record
from weaklink.storage.packing.former_records import VERSION, upgraded
from weaklink.storage.packing.values import pack, packable, unpack

_SHARED = 32  # code points that a result must share with the text that was read, to be stored as a reference to it


def pack_facts(facts: Record) -> bytes:
    """The facts of a trace or a turn as bytes."""
    return VERSION + pack(facts)


def unpack_facts(raw: bytes) -> Record:
    """The inverse of `pack_facts`; facts of an earlier weaklink are upgraded. ValueError for other bytes."""
    return unpack(raw[1:]) if raw[:1] == VERSION else upgraded(unpack(raw))


def trace_facts(trace: model.Trace) -> Record:
    """All fields of a trace except its turns and its provenance."""
    facts = trace_record(trace)
    facts.pop("provenance", None)
    return facts


def provenance_facts(provenance: model.Provenance) -> Record:
    """All fields of a provenance."""
    return {name: value for name, value in msgspec.to_builtins(provenance).items() if value}


def trace_from(facts: Record, provenance: Record, turns: tuple[model.Turn, ...]) -> model.Trace:
    """The inverse of `trace_facts` and `provenance_facts`, with these turns."""
    trace = msgspec.convert(facts | {"turns": (), "provenance": provenance, "is_open": False}, model.Trace)
    return structs.replace(trace, turns=turns)


def turn_facts(turn: model.Turn) -> Record:
    """All fields of a turn except its role, its parts and its tools."""
    generation = turn.generation and structs.replace(turn.generation, tools=())
    facts = turn_record(structs.replace(turn, parts=(), generation=generation))
    del facts["role"], facts["parts"]
    if "result" in facts:
        facts["result"] = _stated(facts["result"])
    if "generation" in facts:
        facts["generation"]["usage"] = _stated(facts["generation"]["usage"])
    read = turn.part("text")
    if turn.run is not None and turn.run.result is not None and read is not None:
        facts["run"]["result"] = _not_in(turn.run.result, read.text)
    return facts


def turn_from(
    role: str, facts: Record, parts: tuple[model.Part, ...], tools: tuple[model.ToolDefinition, ...]
) -> model.Turn:
    """The inverse of `turn_facts`, with this role, these parts and these tools."""
    run = facts.get("run")
    if run and isinstance(run.get("result"), list):
        read = next((part.text for part in parts if part.name == "text"), "")
        prefix, middle, suffix = run["result"]
        facts = facts | {"run": run | {"result": f"{read[:prefix]}{middle}{read[len(read) - suffix :]}"}}
    turn = msgspec.convert(facts | {"role": role, "parts": ()}, model.Turn)
    generation = structs.replace(turn.generation, tools=tools) if tools and turn.generation else turn.generation
    return structs.replace(turn, parts=parts, generation=generation)


def tool_facts(tool: model.ToolDefinition) -> list[Any]:
    """A tool definition. Its hash identifies it in the database, so its form stays as it is."""
    where = None if tool.range is None else [tool.range.start, tool.range.end]
    return [tool.name, tool.description, packable(tool.parameters), tool.raw, where]


def tool_from(facts: list[Any]) -> model.ToolDefinition:
    """The inverse of `tool_facts`."""
    name, description, parameters, raw, where = facts
    return model.ToolDefinition(name, description, parameters, raw, Range(*where) if where else None)


def _stated(record: Record) -> Record:
    """The fields that state something: None does not, nor does False about who counted tokens."""
    return {
        name: value for name, value in record.items() if value is not None and (name != "computed" or value is True)
    }


def _not_in(result: str, text: str) -> str | list[int | str]:
    """A result as the code points that it shares with the beginning and the end of a text, and those between them."""
    prefix = shared_prefix(result, text)
    suffix = shared_suffix(result, text, min(len(result), len(text)) - prefix)
    return [prefix, result[prefix : len(result) - suffix], suffix] if prefix + suffix >= _SHARED else result
