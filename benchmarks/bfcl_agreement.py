"""How often the verifier `tool-use` agrees with the Berkeley leaderboard's own checker, on its answers and on mutants.

For each task in Python of BFCL v4 with possible answers (`simple_python`, `multiple`, `parallel`, `parallel_multiple`
and their `live_` siblings), the gold answer takes the first possible value of each argument. A mutant changes one thing
in it. Both checkers judge each answer: `bfcl_eval.eval_checker.ast_eval.ast_checker.ast_checker` with the calls
themselves, and `weaklink.verify` with the same calls in Hermes' format and the possible answers as the row's reference.

The package is installed without its dependencies (the clients of all models), so the table of models that the checker
imports is replaced by one in which no model changes the dots in names.
"""

import copy
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import weaklink
from weaklink.inspector.model import Json

_PACKAGE = "bfcl-eval==2026.3.23"
_TARGET = Path("build/bfcl")
_CATEGORIES = ("simple_python", "multiple", "parallel", "parallel_multiple")
_DIFFERENCES = 20
_OPTIONS: dict[str, tuple[str, ...]] = {"": (), " with `--ignore S2`": ("S2",)}


def bfcl_agreement() -> None:
    """Print the agreement of each kind of answer, and some of the differences with `WEAKLINK_BFCL_SHOW=1`."""
    if not (_TARGET / "bfcl_eval").exists():
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(_TARGET), _PACKAGE]
        subprocess.run(command, check=True)
    check = _checker()
    agreed: dict[str, Counter[str]] = {option: Counter() for option in _OPTIONS}
    total: Counter[str] = Counter()
    shown = unsourced = 0
    for category, task, answers in _tasks():
        for kind, calls in _answers(answers, task["function"]):
            theirs = _theirs(check, category, task["function"], calls, answers)
            total[kind] += 1
            unsourced += kind == "gold" and not _ours(task, calls, None, (), ("V904", "T411")).passed
            verdict = _ours(task, calls, answers, ())
            for option, ignore in _OPTIONS.items():
                passed = (
                    _ours(task, calls, answers, ignore).passed if ignore and verdict.diagnostics else verdict.passed
                )
                agreed[option][kind] += theirs == passed
            if theirs != verdict.passed and shown < _DIFFERENCES and os.environ.get("WEAKLINK_BFCL_SHOW"):
                shown += 1
                reasons = [str(diagnostic.fault.message) for diagnostic in verdict.diagnostics]
                print(f"  {task['id']} {kind}: theirs {theirs}: {calls} {reasons}", file=sys.stderr)
    heads = " | ".join(f"same verdict{option}" for option in _OPTIONS)
    print(f"| answer | answers | {heads} |\n| --- | --- {'| --- ' * len(_OPTIONS)}|")
    for kind, count in total.items():
        _print_row(kind, count, (counts[kind] for counts in agreed.values()))
    _print_row("all", total.total(), (counts.total() for counts in agreed.values()))
    gold = total["gold"]
    share = 100 * unsourced / gold
    print(f"\nWithout a reference, V904 and T411 reject {unsourced} of {gold:,} gold answers ({share:.1f} %).")


def _print_row(kind: str, count: int, agreed: Iterable[int]) -> None:
    shares = " | ".join(f"{100 * agreed_count / count:.2f} %" for agreed_count in agreed)
    print(f"| {kind} | {count:,} | {shares} |")


def _checker() -> Any:
    sys.path.insert(0, str(_TARGET))
    models = ModuleType("bfcl_eval.constants.model_config")
    models.MODEL_CONFIG_MAPPING = {"model": SimpleNamespace(underscore_to_dot=False)}  # type: ignore[attr-defined]  # a module made here
    sys.modules[models.__name__] = models
    converters = "bfcl_eval.eval_checker.ast_eval.type_convertor"
    for language in ("java", "js"):  # they parse with tree-sitter; no task in Python uses them
        name = f"{converters}.{language}_type_converter"
        sys.modules[name] = ModuleType(name)
        setattr(sys.modules[name], f"{language}_type_converter", None)
    from bfcl_eval.constants.enums import Language  # type: ignore[import-not-found]  # noqa: PLC0415  # installed above
    from bfcl_eval.eval_checker.ast_eval.ast_checker import (  # type: ignore[import-not-found]  # noqa: PLC0415  # the same
        ast_checker,
    )

    return lambda *arguments: ast_checker(*arguments[:3], Language.PYTHON, arguments[3], "model")


def _tasks() -> Iterator[tuple[str, dict[str, Any], list[dict[str, Any]]]]:
    data = _TARGET / "bfcl_eval" / "data"
    for category in (*_CATEGORIES, *(f"live_{name.removesuffix('_python')}" for name in _CATEGORIES)):
        name = f"BFCL_v4_{category}.json"
        lines = (data / "possible_answer" / name).read_text(encoding="utf-8").splitlines()
        answers = {row["id"]: row["ground_truth"] for row in map(json.loads, lines)}
        for line in (data / name).read_text(encoding="utf-8").splitlines():
            task = json.loads(line)
            yield category, task, answers[task["id"]]


def _answers(answers: list[dict[str, Any]], functions: list[dict[str, Any]]) -> Iterator[tuple[str, list[Any]]]:
    """The gold answer of a task and its mutants, each with its kind."""
    gold = [
        {tool: {name: _first(some) for name, some in arguments.items() if _first(some) != ""}}
        for answer in answers
        for tool, arguments in answer.items()
    ]
    yield "gold", gold
    ((tool, arguments),) = gold[0].items()
    for name, value in arguments.items():
        for kind, changed in (("wrong value", _other_value(value)), ("wrong type", _other_type(value))):
            yield kind, _with(gold, tool, {**arguments, name: changed})
        left = {key: argument for key, argument in arguments.items() if key != name}
        yield ("optional left out" if "" in answers[0][tool][name] else "argument left out"), _with(gold, tool, left)
    for name, some in answers[0][tool].items():
        for value in some[1:]:
            if value != "":
                yield "another possible value", _with(gold, tool, {**arguments, name: _resolved(value)})
    yield "wrong name", [{f"{tool}_2": arguments}, *gold[1:]]
    yield "extra parameter", _with(gold, tool, {**arguments, "verbose_output": True})
    yield "missing call", gold[1:]
    yield "extra call", [*gold, {functions[-1]["name"]: {}}]
    yield "repeated call", [*gold, gold[0]]
    if len(gold) > 1:
        yield "other order", gold[::-1]


def _with(gold: list[Any], tool: str, arguments: dict[str, Any]) -> list[Any]:
    return [{tool: arguments}, *gold[1:]]


def _first(some: list[Any]) -> Any:
    return _resolved(some[0]) if some else ""


def _resolved(value: Any) -> Any:
    """A possible value without the lists of possible values of its members."""
    if isinstance(value, dict):
        members = {name: _first(some) if isinstance(some, list) else some for name, some in value.items()}
        return {name: member for name, member in members.items() if member != ""}
    return [_resolved(element) for element in value] if isinstance(value, list) else value


def _other_value(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value} x1"
        case list():
            return [*value, *value[:1]] if value else ["x1"]
        case dict():
            return {**value, "x1": 1}
    return "x1"


def _other_type(value: Any) -> Any:
    return [value] if isinstance(value, str) else str(value)


def _theirs(check: Any, category: str, functions: list[Any], calls: list[Any], answers: list[Any]) -> bool:
    try:
        return bool(check(functions, copy.deepcopy(calls), answers, category)["valid"])
    except Exception:  # noqa: BLE001  # foreign code: the leaderboard counts a checker's error as a wrong answer
        return False


def _ours(
    task: dict[str, Any],
    calls: list[Any],
    answers: list[Any] | None,
    ignore: tuple[str, ...],
    select: tuple[str, ...] = (),
) -> weaklink.VerifierVerdict:
    texts = [
        f"<tool_call>\n{json.dumps({'name': tool, 'arguments': arguments})}\n</tool_call>"
        for call in calls
        for tool, arguments in call.items()
    ]
    expected: list[Json] | None = list(answers) if answers is not None else None
    return weaklink.verify(
        "tool-use",
        task["question"][0],
        "\n".join(texts),
        tools=task["function"],
        expected=expected,
        format="hermes",
        ignore=ignore,
        select=select,
    )
