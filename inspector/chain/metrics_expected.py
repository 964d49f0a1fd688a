"""The calls that a task wanted, and how many of them were made with the right tool and the right arguments."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from inspector.chain.metrics_figures import ExpectedCounts
from inspector.importers.records import parse_json_bytes
from inspector.model import Json, ToolCall

IDS = ("id", "task_id", "question_id")
"""Where a row says which trace it is about; the first that is there counts."""
CALLS = ("expected", "expected_calls", "ground_truth", "possible_answer", "actions", "answers", "tool_calls")
"""Where a row holds the expected calls; the first that is there counts."""
_ARGUMENTS = ("arguments", "kwargs", "parameters", "args")
_CANDIDATES = 32  # calls of one tool that an expected call is compared with; beyond, calls are alike only by chance
_BLURRED = str.maketrans("", "", " ,./-_*^")


class ExpectedCall(Struct, frozen=True):
    """A call that a task wanted: its tool, and for each argument the values that would do.

    An argument in `optional` may be left out. `is_blurred`: texts are compared as the Berkeley leaderboard does,
    without case, blanks and `,./-_*^`, and a tool's name without regard to dots (`bfcl_eval/eval_checker/ast_eval/
    ast_checker.py`).
    """

    tool: str
    arguments: Mapping[str, Sequence[Json]]
    optional: frozenset[str] = frozenset()
    is_blurred: bool = False


def expected_of(row: Json) -> tuple[str, tuple[ExpectedCall, ...]]:
    """Whose calls a row tells, and which; none where no call is wanted. ValueError, with the reason, for any other.

    A call is `{"name", "arguments"}`, with `kwargs` or `parameters` for `arguments` (tau-bench's tasks, xLAM's data),
    in `{"function": ...}` or not, or the leaderboard's `{tool: {argument: [values]}}`.
    """
    if not isinstance(row, dict):
        raise ValueError("a row is an object with an id and the expected calls")
    id_ = next((row[name] for name in IDS if isinstance(row.get(name), str | int)), None)
    if id_ is None or isinstance(id_, bool):
        raise ValueError(f"the row has no id; it belongs under {_listed(IDS)}")
    name = next((name for name in CALLS if name in row), None)
    if name is None:
        raise ValueError(f"the row has no expected calls; they belong under {_listed(CALLS)}")
    return str(id_), tuple(_call(one) for one in _list(_decoded(row[name]), name))


def agreement(expected: Sequence[ExpectedCall], made: Sequence[ToolCall]) -> ExpectedCounts:
    """How the calls that were made agree with those that were expected.

    One tool selection is asked for each expected call, and each call beyond is a wrong one; where nothing is expected
    and nothing was called, that is one right selection. An expected call is held against the calls of its tool that
    are left, and takes the one that agrees best. Of such a pair each argument that is expected, or given though it is
    not, is one parameter.
    """
    left: dict[str, list[ToolCall]] = {}
    for call in made:
        left.setdefault(_plain(call.name or ""), []).append(call)
    right_tools = right = parameters = 0
    for one in expected:
        candidates = [call for call in left.get(_plain(one.tool), [])[:_CANDIDATES] if _is_named(one, call)]
        if not candidates:
            continue
        scores = [_score(one, call) for call in candidates]
        best = max(range(len(scores)), key=lambda index: (scores[index][0] - scores[index][1], -index))
        left[_plain(one.tool)].remove(candidates[best])
        right_tools += 1
        right += scores[best][0]
        parameters += scores[best][1]
    selections = max(len(expected), len(made))
    return ExpectedCounts(right_tools if selections else 1, selections or 1, right, parameters)


def _score(expected: ExpectedCall, call: ToolCall) -> tuple[int, int]:
    """How many arguments are right, and of how many."""
    given = call.arguments if isinstance(call.arguments, dict) else {}
    wanted = {name for name in expected.arguments if name in given or name not in expected.optional}
    right = sum(
        name in given and any(_agree(value, given[name], blurred=expected.is_blurred) for value in values)
        for name, values in expected.arguments.items()
    )
    return right, len(wanted | given.keys())


def _agree(wanted: Json, given: Json, *, blurred: bool) -> bool:
    """Whether a value is the one that was wanted; 1 and 1.0 are one number, true and 1 are not one value."""
    pairs = [(wanted, given)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            pairs += ((_choice(one[name], other[name], blurred=blurred), other[name]) for name in one)
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pairs += zip(one, other, strict=True)
        elif not _is_same(one, other, blurred=blurred):
            return False
    return True


def _choice(wanted: Json, given: Json, *, blurred: bool) -> Json:
    """The value that a member shall have; the leaderboard lists those that would do within objects too."""
    if not blurred or not isinstance(wanted, list):
        return wanted
    return next((one for one in wanted if _is_same(one, given, blurred=True)), wanted[0] if wanted else None)


def _is_same(one: Json, other: Json, *, blurred: bool) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one == other or (blurred and _blur(one) == _blur(other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return one == other


def _blur(text: str) -> str:
    return text.translate(_BLURRED).lower().replace("'", '"')


def _plain(tool: str) -> str:
    return tool.replace(".", "_")


def _is_named(expected: ExpectedCall, call: ToolCall) -> bool:
    return call.name is not None and (expected.is_blurred or call.name == expected.tool)


def _call(value: Json) -> ExpectedCall:
    if not isinstance(value, dict):
        raise ValueError("an expected call is an object; the Python texts of tasks of several turns are not read")
    function = value.get("function")
    inner = function if isinstance(function, dict) else value
    name = inner.get("name")
    if isinstance(name, str):
        found = next((_decoded(inner[key]) for key in _ARGUMENTS if inner.get(key) is not None), {})
        if not isinstance(found, dict):
            raise ValueError(f"the arguments expected of `{name}` are no object")
        return ExpectedCall(name, {key: (one,) for key, one in found.items()})
    if len(value) == 1:
        ((tool, arguments),) = value.items()
        if isinstance(arguments, dict) and all(isinstance(choices, list) for choices in arguments.values()):
            listed = {key: _list(choices, key) for key, choices in arguments.items()}
            optional = frozenset(key for key, some in listed.items() if "" in some)
            return ExpectedCall(tool, listed, optional, is_blurred=True)
    raise ValueError("an expected call is `{name, arguments}` or `{tool: {argument: [values]}}`")


def _decoded(value: Json) -> Json:
    """A value, read where it is JSON in a string."""
    return parse_json_bytes(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else value


def _list(value: Json, name: str) -> list[Json]:
    if not isinstance(value, list):
        raise ValueError(f"`{name}` is no list")
    return value


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names[:-1]) + f" or `{names[-1]}`"
