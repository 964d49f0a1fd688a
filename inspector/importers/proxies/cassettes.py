"""Cassettes of VCR: the HTTP exchanges that tests replay, as YAML or JSON.

An interaction becomes an entry of a HAR, so bodies, compressed or streamed ones too, are read as a HAR's are. Sources:
vcrpy (`vcr/serialize.py`: `uri`, `body` or `body.string`, which may be `!!binary`), Pydantic AI's tests (`parsed_body`
in place of JSON bodies, tests/json_body_serializer.py), go-vcr (`url`, `body`, `code`, `duration`).
"""

import base64
from collections.abc import Iterator

from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.proxies.exchanges import ProxyFile, ProxyRecord, SeenExchange
from weaklink.inspector.importers.proxies.har import read_entry
from weaklink.inspector.importers.records import read_rows
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.json_text import compact_json, count_of, list_of, object_of, objects_of
from weaklink.inspector.memory import RECORD_MEMORY, too_long
from weaklink.inspector.model import Json, Trace
from weaklink.inspector.scanning import lazy_pattern

_YAML = lazy_pattern(r"(?:\ufeff|---\n|#[^\n]*\n|version: ?\d+\n|\s)*interactions:\s*(?:\[\]|\n\s*-)")
_NO_YAML = "reading YAML needs `pyyaml`, which is not installed: pip install 'weaklink[data]'"
_LOST_REQUESTS = "the cassette contains no request body"
_LOST_ANSWERS = "the cassette contains no response body"
_NO_TIMES = "the cassette stores neither times nor chunks, and may hold a repeated request only once"
_NODE_BYTES = 700
"""The memory that a node of YAML takes while it is read: 345 to 520 bytes, measured on short values with PyYAML 6.0."""

_MAX_DEPTH = 200
_NODE_STARTS = b"\n,[{:"


def _is_interaction(value: JsonObject) -> bool:
    request = value.get("request")
    return isinstance(request, dict) and bool(request.keys() & {"uri", "url"}) and "response" in value


def _traces(file: SourceFile) -> Iterator[Trace | Skipped]:
    proxy = ProxyFile("interactions", _LOST_REQUESTS, _LOST_ANSWERS, warnings=[_NO_TIMES])
    return proxy.traces(_records(file))


def _records(file: SourceFile) -> Iterator[ProxyRecord]:
    number = 0
    for cassette in _cassettes(file):
        if isinstance(cassette, Skipped):
            yield cassette
            continue
        for interaction in list_of(cassette.get("interactions")):
            number += 1
            record = f"interaction {number}"
            entry = _entry(object_of(interaction)) if _is_interaction(object_of(interaction)) else {}
            seen = read_entry(entry, record, lambda _: None)
            if isinstance(seen, SeenExchange):
                yield SeenExchange(seen.exchange)  # its warnings are those of a HAR
            else:
                yield seen or Skipped(record, "the interaction has no `request` with a `uri`")


def _cassettes(file: SourceFile) -> Iterator[JsonObject | Skipped]:
    if file.head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        for row in read_rows(file):
            yield row if isinstance(row, Skipped) else row.value
        return
    with file.open() as stream:
        raw = stream.read(RECORD_MEMORY // 4 + 1)
    needed = len(raw) + _NODE_BYTES * sum(raw.count(start) for start in _NODE_STARTS)
    if needed > RECORD_MEMORY:
        yield Skipped("file", too_long(RECORD_MEMORY // 4))
        return
    yield _yaml(raw)


def _yaml(raw: bytes) -> JsonObject | Skipped:
    try:
        import yaml  # noqa: PLC0415  # optional
    except ImportError:
        return Skipped("file", _NO_YAML)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml where PyYAML was built with it: ten times faster
    try:
        value = _plain(yaml.load(raw, Loader=loader), [RECORD_MEMORY // _NODE_BYTES], _MAX_DEPTH)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return Skipped("file", f"this is no valid YAML: {' '.join(str(error).split())[:300]}")
    return object_of(value)


def _plain(value: object, left: list[int], depth: int) -> Json:
    """A value of YAML as JSON, with aliases resolved; ValueError for more than is `left` to build, or too deep ones.

    A body in bytes becomes `{"base64": ...}`.
    """
    left[0] -= 1
    if left[0] < 0 or depth < 0:
        raise ValueError("its aliases expand to too many values" if depth >= 0 else "its values are nested too deeply")
    if isinstance(value, dict):
        return {str(key): _plain(one, left, depth - 1) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one, left, depth - 1) for one in value]
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode("ascii")}
    return value if isinstance(value, str | int | float | None) else str(value)


def _entry(interaction: JsonObject) -> JsonObject:
    """The interaction as an entry of a HAR."""
    request, response = object_of(interaction.get("request")), object_of(interaction.get("response"))
    status = object_of(response.get("status")).get("code", response.get("code", response.get("status_code")))
    return {
        "request": {
            "method": request.get("method"),
            "url": text_of(request, "uri", "url"),
            "headers": request.get("headers"),
            "postData": _content(request),
        },
        "response": {
            "status": count_of(status) or 0,
            "headers": response.get("headers"),
            "content": _content(response),
        },
    }


def _content(message: JsonObject) -> JsonObject:
    """A message's body as HAR's `content`; an empty one if it was not kept."""
    body = message.get("body")
    if isinstance(body, dict) and "base64" not in body:
        body = body.get("string", body.get("base64_string"))
    if isinstance(body, dict):
        return {"text": body.get("base64"), "encoding": "base64"}
    if isinstance(body, str) and body:
        return {"text": body}
    parsed = message.get("parsed_body")
    return {} if parsed is None else {"text": compact_json(parsed)}


VCR = LogSource(
    name="vcr",
    signs="`interactions`, each with a `request` and a `response`",
    is_row=lambda row: any(map(_is_interaction, objects_of(row.get("interactions")))),
    score=lambda sample: 0.95 if _YAML.match(sample.text) and "request:" in sample.text else 0.0,
    reader=_traces,
)
"""The traces of a cassette's exchanges with models, and a Skipped for each interaction that is none, as for a HAR."""
