"""Suites: requests to an endpoint, with what a right answer must have; and the files that contain them.

A file has one JSON object per line, in one of three shapes:

* a chat request (`{"messages": [...], "tools": [...]}`), as in the `samples.jsonl` of MoonshotAI/K2-Vendor-Verifier;
* `{"id", "family", "request", "expected"}`, weaklink's own;
* a question of BFCL (`{"id", "question", "function"}`), whose right answers are in a file of the same name in the
  folder `possible_answer` beside it (ShishirPatil/gorilla, berkeley-function-call-leaderboard/bfcl_eval/data).
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from weaklink.inspector.chain.layers import same_arguments
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.json_text import list_of, object_of, objects_of, word_of, write_json
from weaklink.inspector.model import Json, ToolCall

_BFCL_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None}
_OWN_FAMILY = "file"
_MAX_LINE = 32 * 1024 * 1024  # characters


class SuiteError(WeaklinkError):
    """A suite cannot be read; the message has the file and the line."""


class SuiteCall(Struct, frozen=True):
    """A call that a right answer has.

    `arguments` are its arguments, None for any. With `alternatives`, each argument has a list of the values that are
    right; an empty text in the list means that the argument may be missing.
    """

    name: str
    arguments: dict[str, Json] | None = None
    alternatives: bool = False

    def fits(self, call: ToolCall) -> bool:
        """Whether a call is this one: the same name, and arguments of the same value."""
        if call.name != self.name or not isinstance(call.arguments, dict):
            return False
        if self.arguments is None:
            return True
        if not self.alternatives:
            return same_arguments(write_json(self.arguments), write_json(call.arguments))
        given = call.arguments
        return given.keys() <= self.arguments.keys() and all(
            _is_one_of(given.get(name), list_of(values), is_given=name in given)
            for name, values in self.arguments.items()
        )


def _is_one_of(value: Json, values: Sequence[Json], *, is_given: bool) -> bool:
    if not is_given:
        return "" in values
    return any(same_arguments(write_json(value), write_json(_plain(known))) for known in values)


def _plain(known: Json) -> Json:
    """A value of BFCL's answers: members of nested objects are lists of alternatives, of which the first counts."""
    if isinstance(known, dict):
        return {
            key: _plain(values[0]) if isinstance(values, list) and values else values for key, values in known.items()
        }
    return known


class ExpectedAnswer(Struct, frozen=True):
    """What a right answer must have.

    `calls` are its calls in any order, None if they do not matter, `()` if there must be none. `text` are words that
    the content contains. `json_schema` is the schema of its content, None if that is no JSON.
    """

    calls: tuple[SuiteCall, ...] | None = None
    text: tuple[str, ...] = ()
    json_schema: Json = None


class ProbeRequest(Struct, frozen=True):
    """One request of a suite, without `model` and `stream`, which the run adds.

    `number` counts from 1 within the suite. If `is_extension`, the request has parameters that OpenAI's API does not
    define, so a server may refuse it.
    """

    number: int
    id: str
    family: str
    body: dict[str, Json]
    expected: ExpectedAnswer = ExpectedAnswer()
    is_extension: bool = False

    def prepared(self, model: str, *, stream: bool) -> dict[str, Json]:
        """The body to send; an empty `model` keeps the request's own."""
        body = {**self.body, "stream": stream}
        if model:
            body["model"] = model
        if stream:
            body["stream_options"] = {"include_usage": True}
        else:
            body.pop("stream_options", None)
        return body


def request_hash(body: Mapping[str, Json]) -> str:
    """The hash of a request as K2-Vendor-Verifier computes it (`compute_hash` of its `tool_calls_eval.py`)."""
    text = json.dumps(body, sort_keys=True, ensure_ascii=False)
    return hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def read_suites(paths: Iterable[str | Path]) -> list[ProbeRequest]:
    """The requests of suite files, numbered in order. SuiteError for a file, line or shape that cannot be read."""
    probes: list[ProbeRequest] = []
    for path in map(Path, paths):
        requests = _read(path)
        if not requests:
            raise SuiteError(f"{path} contains no requests")
        probes += [_numbered(request, number) for number, request in enumerate(requests, len(probes) + 1)]
    return probes


def _numbered(request: ProbeRequest, number: int) -> ProbeRequest:
    return ProbeRequest(
        number, request.id or f"{request.family}-{number}", request.family, request.body, request.expected
    )


def _read(path: Path) -> list[ProbeRequest]:
    answers = _bfcl_answers(path.parent / "possible_answer" / path.name)
    return [_request(record, f"{path}, line {number}", answers, path.stem) for number, record in _records(path)]


def _records(path: Path) -> Iterator[tuple[int, dict[str, Json]]]:
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                if len(line) > _MAX_LINE:
                    raise SuiteError(f"{path}, line {number}: longer than {_MAX_LINE:,} characters")
                if not line.strip():
                    continue
                record = json.loads(line)
                if not isinstance(record, dict):
                    raise SuiteError(f"{path}, line {number}: not a JSON object")
                yield number, record
    except (OSError, UnicodeDecodeError) as error:
        raise SuiteError(f"{path} cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise SuiteError(f"{path} is not JSON lines: {error}") from error


def _request(record: dict[str, Json], location: str, answers: Mapping[str, Json], family: str) -> ProbeRequest:
    if isinstance(record.get("messages"), list):  # a chat request: the line number is its id
        return ProbeRequest(0, "", _OWN_FAMILY, _chat_request(record))
    if isinstance(record.get("request"), dict):
        body = object_of(record["request"])
        if not isinstance(body.get("messages"), list):
            raise SuiteError(f"{location}: `request` has no `messages`")
        expected = _expected(object_of(record.get("expected")), location)
        return ProbeRequest(
            0, word_of(record.get("id")), word_of(record.get("family")) or _OWN_FAMILY, _chat_request(body), expected
        )
    if isinstance(record.get("question"), list) and "function" in record:
        return _bfcl_request(record, location, answers, family)
    raise SuiteError(
        f"{location}: neither a chat request (`messages`), nor `request`, nor a question of BFCL (`question`)"
    )


def _chat_request(body: dict[str, Json]) -> dict[str, Json]:
    """The request, with the role `_input` of the verifier's samples read as `system`, as the verifier does."""
    messages: list[Json] = [
        {**message, "role": "system"} if message.get("role") == "_input" else message
        for message in objects_of(body["messages"])
    ]
    return {**body, "messages": messages}


def _expected(value: dict[str, Json], location: str) -> ExpectedAnswer:
    calls = value.get("calls")
    if calls is not None and not all(word_of(call.get("name")) for call in objects_of(calls)):
        raise SuiteError(f"{location}: each of `expected.calls` needs a `name`")
    listed = tuple(
        SuiteCall(word_of(call.get("name")), call["arguments"] if isinstance(call.get("arguments"), dict) else None)  # type: ignore[arg-type] # tested in the same line
        for call in objects_of(calls)
    )
    text = tuple(word for word in list_of(value.get("text")) if isinstance(word, str))
    return ExpectedAnswer(None if calls is None else listed, text, value.get("json_schema"))


def _bfcl_answers(path: Path) -> dict[str, Json]:
    if not path.exists():
        return {}
    return {word_of(record.get("id")): record.get("ground_truth") for _, record in _records(path)}


def _bfcl_request(record: dict[str, Json], location: str, answers: Mapping[str, Json], family: str) -> ProbeRequest:
    id_ = word_of(record.get("id"))
    turns = list_of(record["question"])
    if len(turns) != 1 or not isinstance(turns[0], list):
        raise SuiteError(f"{location}: a question of BFCL with {len(turns)} turns; only those with one are supported")
    functions: Json = record["function"] if isinstance(record["function"], list) else [record["function"]]
    tools: list[Json] = [
        {
            "type": "function",
            "function": {
                "name": _bfcl_name(word_of(function.get("name"))),
                "description": word_of(function.get("description")),
                "parameters": _json_schema(function.get("parameters")),
            },
        }
        for function in objects_of(functions)
    ]
    calls: tuple[SuiteCall, ...] | None = None
    if id_ in answers:
        calls = tuple(
            SuiteCall(_bfcl_name(name), object_of(values), alternatives=True)
            for call in objects_of(answers[id_])
            for name, values in call.items()
        )
    elif "irrelevance" in id_:
        calls = ()
    return ProbeRequest(0, id_, f"bfcl {family}", {"messages": turns[0], "tools": tools}, ExpectedAnswer(calls))


def _bfcl_name(name: str) -> str:
    """The name that BFCL itself sends: OpenAI's API allows no dots in names."""
    return name.replace(".", "_")


def _json_schema(value: Json) -> Json:
    """BFCL's schema with the types of JSON Schema."""
    if isinstance(value, list):
        return [_json_schema(item) for item in value]
    if not isinstance(value, dict):
        return value
    schema = {key: _json_schema(item) for key, item in value.items()}
    kind = schema.get("type")
    if isinstance(kind, str) and kind in _BFCL_TYPES:
        schema["type"] = _BFCL_TYPES[kind]
        if schema["type"] is None:
            del schema["type"]
    return schema
