"""The calls that a task expects: how a row writes them, and whether a call that was made is one of them.

A reference is written in one of three forms; each call of a list may have another one:

* `{"name": "get_weather", "arguments": {"city": "Rome"}}`, with `kwargs`, `parameters` or `args` for `arguments`, in
  `{"function": ...}` or not: one value per argument. Texts are compared exactly, 1 equals 1.0, true is not 1, and an
  argument whose value is null may be missing.
* `{"get_weather": {"city": ["Rome", "Roma"], "unit": ["celsius", ""]}}`, the possible answers of the Berkeley
  leaderboard: several values per argument, of which an empty text means that the argument may be missing. The members
  of an object have lists of possible values too. Texts are compared as the leaderboard's checker compares them
  (`bfcl_eval/eval_checker/ast_eval/ast_checker.py`): without case, blanks and `,./-_*^`.
* `{"get_weather": {"city": "Rome"}}`: as the first form. If every argument is a list, it is the second form.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from weaklink.inspector.importers.records import NotJsonError, parse_json_bytes
from weaklink.inspector.model import Json, ToolCall

IDS = ("id", "task_id", "question_id")
"""The fields of a row for the id of its trace; the first one present counts."""
CALLS = ("expected", "expected_calls", "ground_truth", "possible_answer", "actions", "answers", "tool_calls")
"""The fields of a row for the expected calls; the first one present counts."""
_ARGUMENTS = ("arguments", "kwargs", "parameters", "args")
_CANDIDATES = 32  # calls of one tool that an expected call is compared with; more calls are alike only by chance
_MAX_DEPTH = 32  # levels of possible values; what is deeper is compared as it is
_BLURRED = str.maketrans("", "", " ,./-_*^")


class ExpectedCounts(Struct, frozen=True):
    """How the calls of a trace agree with the expected calls of its task: the right ones, and the totals."""

    right_tools: int
    expected_tools: int
    right_parameters: int
    expected_parameters: int


class ExpectedCall(Struct, frozen=True):
    """A call that a task expects: its tool, and the accepted values of each argument.

    An argument in `optional` may be left out. `is_blurred`: values are compared as the Berkeley leaderboard does, and a
    tool's name without regard to dots.
    """

    tool: str
    arguments: Mapping[str, Sequence[Json]]
    optional: frozenset[str] = frozenset()
    is_blurred: bool = False

    def names(self, tool: str | None) -> bool:
        """Whether this is the name of the expected tool."""
        if tool is None or not self.is_blurred:
            return tool == self.tool
        return _plain(tool) == _plain(self.tool)

    def accepts(self, argument: str, value: Json) -> bool:
        """Whether the argument is expected, and may have this value."""
        return any(agrees(expected, value, blurred=self.is_blurred) for expected in self.arguments.get(argument, ()))

    def may_lack(self, argument: str) -> bool:
        """Whether a call may leave the argument out."""
        return argument in self.optional or argument not in self.arguments or None in self.arguments[argument]

    def is_made_by(self, call: ToolCall) -> bool:
        """Whether a call is this one: its tool, every argument that it may not leave out, and no other argument."""
        if not self.names(call.name) or not isinstance(call.arguments, dict):
            return False
        given = call.arguments
        return all(self.accepts(name, value) for name, value in given.items()) and all(
            name in given or self.may_lack(name) for name in self.arguments
        )


def expected_of(row: Json) -> tuple[str, tuple[ExpectedCall, ...]]:
    """The trace id and the expected calls of a row; no calls if none is expected. Raises ValueError with the reason."""
    if not isinstance(row, dict):
        raise ValueError("a row must be an object with an id and the expected calls")
    id_ = next((row[name] for name in IDS if isinstance(row.get(name), str | int)), None)
    if id_ is None or isinstance(id_, bool):
        raise ValueError(f"the row has no id; expected the key {_listed(IDS)}")
    name = next((name for name in CALLS if name in row), None)
    if name is None:
        raise ValueError(f"the row has no expected calls; expected the key {_listed(CALLS)}")
    return str(id_), expected_calls(row[name], name)


def expected_calls(value: Json, name: str) -> tuple[ExpectedCall, ...]:
    """The calls in a reference: a list of them, one call, or the JSON text of either.

    `name` is the field, for the message. Raises ValueError with the reason.
    """
    listed = parsed_if_text(value, name)
    if isinstance(listed, dict):
        listed = [listed]
    if not isinstance(listed, list):
        raise ValueError(f"`{name}` is not a list of calls")
    return tuple(_call(parsed_if_text(entry, name)) for entry in listed)


def agreement(expected: Sequence[ExpectedCall], made: Sequence[ToolCall]) -> ExpectedCounts:
    """How the calls that were made agree with those that were expected.

    Each expected call is one tool selection, and each further call is a wrong one; if nothing is expected and nothing
    was called, that is one right selection. An expected call is compared with the remaining calls of its tool, and
    takes the one that agrees best. In such a pair, each argument that is expected, or given though it is not, is one
    parameter.
    """
    left: dict[str, list[ToolCall]] = {}
    for call in made:
        left.setdefault(_plain(call.name or ""), []).append(call)
    right_tools = right = parameters = 0
    for expected_call in expected:
        candidates = [
            call for call in left.get(_plain(expected_call.tool), [])[:_CANDIDATES] if expected_call.names(call.name)
        ]
        if not candidates:
            continue
        scores = [_score(expected_call, call) for call in candidates]
        best = max(range(len(scores)), key=lambda index: (scores[index][0] - scores[index][1], -index))
        left[_plain(expected_call.tool)].remove(candidates[best])
        right_tools += 1
        right += scores[best][0]
        parameters += scores[best][1]
    selections = max(len(expected), len(made))
    return ExpectedCounts(right_tools if selections else 1, selections or 1, right, parameters)


def _score(expected: ExpectedCall, call: ToolCall) -> tuple[int, int]:
    """The number of right arguments, and the total."""
    given = call.arguments if isinstance(call.arguments, dict) else {}
    counted = {name for name in expected.arguments if name in given or name not in expected.optional}
    right = sum(name in given and expected.accepts(name, given[name]) for name in expected.arguments)
    return right, len(counted | given.keys())


def agrees(expected: Json, given: Json, *, blurred: bool) -> bool:
    """Whether a value is the expected one; 1 and 1.0 are the same number, true and 1 are different values."""
    return _is_possible(expected, given, _MAX_DEPTH) if blurred else _is_equal(expected, given)


def _is_possible(expected: Json, given: Json, depth: int) -> bool:
    """Whether the leaderboard's checker accepts a value: the members of an object have lists of possible values."""
    if not depth:
        return _is_equal(expected, given)
    if isinstance(expected, dict) and isinstance(given, dict):
        return given.keys() <= expected.keys() and all(
            _is_possible_member(some, given[name], depth - 1)
            if name in given
            else isinstance(some, list) and "" in some
            for name, some in expected.items()
        )
    if isinstance(expected, list) and isinstance(given, list):
        return len(expected) == len(given) and all(
            _is_possible(element, other, depth - 1) for element, other in zip(expected, given, strict=True)
        )
    if isinstance(expected, str) and isinstance(given, str):
        return expected == given or _blur(expected) == _blur(given)
    return _is_equal(expected, given)


def _is_possible_member(some: Json, given: Json, depth: int) -> bool:
    if isinstance(some, list) and any(_is_possible(possible, given, depth) for possible in some):
        return True
    return _is_possible(some, given, depth)


def _is_equal(expected: Json, given: Json) -> bool:
    pairs = [(expected, given)]
    while pairs:
        wanted, other = pairs.pop()
        if isinstance(wanted, dict) and isinstance(other, dict):
            if wanted.keys() != other.keys():
                return False
            pairs += ((wanted[name], other[name]) for name in wanted)
        elif isinstance(wanted, list) and isinstance(other, list):
            if len(wanted) != len(other):
                return False
            pairs += zip(wanted, other, strict=True)
        elif isinstance(wanted, bool) or isinstance(other, bool):
            if wanted is not other:
                return False
        elif wanted != other:
            return False
    return True


def _blur(text: str) -> str:
    return text.translate(_BLURRED).lower().replace("'", '"')


def _plain(tool: str) -> str:
    return tool.replace(".", "_")


def _call(value: Json) -> ExpectedCall:
    if not isinstance(value, dict):
        raise ValueError("an expected call must be an object; the Python code of multi-turn tasks is not supported")
    function = value.get("function")
    inner = function if isinstance(function, dict) else value
    name = inner.get("name")
    if isinstance(name, str):
        key = next((key for key in _ARGUMENTS if inner.get(key) is not None), None)
        parsed = parsed_if_text(inner[key], key) if key is not None else {}
        if not isinstance(parsed, dict):
            raise ValueError(f"the expected arguments of `{name}` are not an object")
        return _single(name, parsed)
    if len(value) == 1:
        ((tool, arguments),) = value.items()
        if isinstance(arguments, dict):
            return _possible(tool, arguments)
    raise ValueError("an expected call must be `{name, arguments}` or `{tool: {argument: [values]}}`")


def _single(tool: str, arguments: Mapping[str, Json]) -> ExpectedCall:
    return ExpectedCall(tool, {key: (value,) for key, value in arguments.items()})


def _possible(tool: str, arguments: Mapping[str, Json]) -> ExpectedCall:
    """The call with lists of possible values; with single values if they are not all lists."""
    listed = {key: some for key, some in arguments.items() if isinstance(some, list)}
    if len(listed) < len(arguments):
        return _single(tool, arguments)
    optional = frozenset(key for key, some in listed.items() if "" in some)
    return ExpectedCall(tool, listed, optional, is_blurred=True)


def parsed_if_text(value: Json, name: str) -> Json:
    """The value, parsed if it is JSON in a string. Raises ValueError for another string, with the `name`."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json_bytes(value.encode("utf-8", "surrogatepass"))
    except NotJsonError as error:
        raise ValueError(f"`{name}` is not valid JSON: {error}") from error


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names[:-1]) + f" or `{names[-1]}`"
