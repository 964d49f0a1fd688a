"""What runs were asked before their steps part: system prompt, user's words, tools, model and parameters."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from inspector.chain.alignment import Alignment
from inspector.chain.excerpt import quoted
from inspector.json_text import write_json
from inspector.model import Generation, Json, Role, Trace, Turn, TurnFlag
from inspector.wire.json_text import parse_json

_LONGEST = 60
_AROUND = 16
_MOST_NAMED = 4
# Request fields that name the session or say how the answer travels, and ask for nothing else.
_OF_THE_SESSION = frozenset(
    (
        "metadata",
        "user",
        "safety_identifier",
        "prompt_cache_key",
        "client_metadata",
        "store",
        "stream",
        "stream_options",
    )
)
_OTHERS = "\n"  # stands for the other runs until it is known which were asked the same; no excerpt holds one


class AskedWhat(StrEnum):
    """What runs may have been asked differently in."""

    MODEL = "model"
    PARAMETERS = "parameters"
    SYSTEM_PROMPT = "system_prompt"
    TOOLS = "tools"
    USER = "user"
    LATER_USER = "later_user"  # in a turn after the first, before the runs parted


@dataclass(frozen=True, slots=True)
class AskedDifference:
    """One thing that runs were asked differently in, as one sentence.

    `runs` are the index of the first run and of those that were all asked otherwise in the same way.
    """

    what: AskedWhat
    runs: tuple[int, ...]
    message: str


def asked_differently(traces: Sequence[Trace], alignment: Alignment) -> list[AskedDifference]:
    """How each run was asked otherwise than the first, the likeliest cause of all that follows; empty where none was.

    What a source does not keep (parameters, a system prompt) is compared only where both runs have it.
    """
    parted = alignment.divergence
    turns = [
        len(trace.turns) + 1 if parted is None or (step := parted.steps[run]) is None else step.location.turn
        for run, trace in enumerate(traces)
    ]
    found: dict[tuple[AskedWhat, str], list[int]] = {}
    for run in range(1, len(traces)):
        for difference in _differences(traces[0], traces[run], ("A", _OTHERS), (turns[0], turns[run])):
            found.setdefault(difference, []).append(run)
    return [
        AskedDifference(what, (0, *runs), message.replace(_OTHERS, named_runs([run_label(run) for run in runs])))
        for (what, message), runs in found.items()
    ]


def run_label(index: int) -> str:
    """What a run is called beside others: `A`, `B`, and so on."""
    return chr(ord("A") + index) if index < 26 else f"run {index + 1}"


def named_runs(labels: Sequence[str]) -> str:
    """The letters of runs as a sentence names them: `A, B and C`."""
    return labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} and {labels[-1]}"


def _differences(
    one: Trace, other: Trace, labels: tuple[str, str], until: tuple[int, int]
) -> Iterator[tuple[AskedWhat, str]]:
    mine, theirs = labels
    models = _model(one), _model(other)
    if models[0] != models[1] and all(models):
        yield AskedWhat.MODEL, f"{mine} ran on {quoted(models[0])}, {theirs} on {quoted(models[1])}."
    parameters = _parameters(one), _parameters(other)
    keys = parameters[0].keys() | parameters[1].keys() if all(parameters) else set()
    for key in sorted(keys - _OF_THE_SESSION):
        values = [_value(found, key) for found in parameters]
        if values[0] != values[1]:
            yield AskedWhat.PARAMETERS, f"{quoted(key)} is {values[0]} in {mine} and {values[1]} in {theirs}."
    prompts = ["\n".join(_words(trace, Role.SYSTEM, end)) for trace, end in zip((one, other), until, strict=True)]
    if prompts[0] != prompts[1] and all(prompts):
        yield AskedWhat.SYSTEM_PROMPT, f"The system prompts differ{_where(prompts[0], prompts[1], labels)}"
    yield from ((AskedWhat.TOOLS, said) for said in _tools(_offered(one), _offered(other), labels))
    yield from _said_by_user(_words(one, Role.USER, until[0]), _words(other, Role.USER, until[1]), labels)


def _said_by_user(one: Sequence[str], other: Sequence[str], labels: tuple[str, str]) -> Iterator[tuple[AskedWhat, str]]:
    """The first of the user's turns, before the runs parted, in which he said something else."""
    for index, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            what = AskedWhat.LATER_USER if index else AskedWhat.USER
            which = f"The user's words number {index + 1} differ" if index else "The user's first words differ"
            yield what, f"{which}{_where(mine, theirs, labels)}"
            return
    if len(one) != len(other):
        times = f"{len(one)} times to {labels[0]} and {len(other)} times to {labels[1]}"
        yield AskedWhat.LATER_USER, f"Before the runs part, the user spoke {times}."


def _where(one: str, other: str, labels: tuple[str, str]) -> str:
    """From which character two texts differ, and what stands there in each."""
    shorter = min(len(one), len(other))
    at = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    start = max(at - _AROUND, 0)
    shown = [
        quoted(("…" if start else "") + text[start:], _LONGEST) if text[at:] else "nothing more"
        for text in (one, other)
    ]
    return f" from character {at + 1:,} on: {labels[0]} has {shown[0]}, {labels[1]} {shown[1]}."


def _tools(one: Mapping[str, str], other: Mapping[str, str], labels: tuple[str, str]) -> Iterator[str]:
    if not one or not other:
        return
    for (has, lacks), mine, theirs in ((labels, one, other), (labels[::-1], other, one)):
        alone = [name for name in mine if name not in theirs]
        if alone:
            was = "was" if len(alone) == 1 else "were"
            yield f"{_named(alone)} {was} offered to {has} and not to {lacks}."
    changed = [name for name, raw in one.items() if name in other and other[name] != raw]
    if changed:
        has = "has another definition" if len(changed) == 1 else "have other definitions"
        yield f"{_named(changed)} {has} in {labels[1]} than in {labels[0]}."


def _named(names: Sequence[str]) -> str:
    said = ", ".join(map(quoted, names[:_MOST_NAMED]))
    return said if len(names) <= _MOST_NAMED else f"{said} and {len(names) - _MOST_NAMED} more"


def _words(trace: Trace, role: Role, until: int) -> list[str]:
    """What a role said in the turns before one, turn by turn."""
    turns = (turn for turn in trace.turns[: until - 1] if turn.role is role and TurnFlag.INJECTED not in turn.flags)
    return [said for turn in turns if (said := _text(turn).strip())]


def _text(turn: Turn) -> str:
    return "\n".join(part.text for part in turn.parts if part.name == "text")


def _generation(trace: Trace) -> Generation | None:
    return next((turn.generation for turn in trace.turns if turn.generation is not None), None)


def _model(trace: Trace) -> str:
    generation = _generation(trace)
    named = (generation.answered_model or generation.requested_model) if generation is not None else ""
    return trace.model or named or ""


def _parameters(trace: Trace) -> Mapping[str, Json]:
    generation = _generation(trace)
    value: Json = generation.parameters if generation is not None else None
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def _value(parameters: Mapping[str, Json], key: str) -> str:
    return quoted(write_json(parameters[key], ascii_only=False), _LONGEST) if key in parameters else "not set"


def _offered(trace: Trace) -> dict[str, str]:
    """The tools that requests offered, each as it was defined first."""
    offered: dict[str, str] = {}
    for turn in trace.turns:
        for tool in turn.generation.tools if turn.generation is not None else ():
            offered.setdefault(tool.name, tool.raw)
    return offered
