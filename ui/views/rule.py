"""The explanation of a rule: its summary, why it matters, how to fix it, and a marked example that breaks it."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import pairwise

from msgspec import Struct, structs

from weaklink.inspector import model
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.importers.reading import unreadable_faults
from weaklink.inspector.inspected import Inspection, PartInspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.rules.rule import DATA_FORMAT, FILE_FORMAT, ROW_FORMAT, Rule
from weaklink.ui.json_types.faults import RuleJson
from weaklink.ui.views.marked_text import marked_lines
from weaklink.ui.views.places import StepPlaces
from weaklink.ui.views.styled_text import Line, Run, Style, quoted, style_of, table_lines, wrapped
from weaklink.ui.views.turn import turn_lines

_MAX_WIDTH = 100
_ROLES = frozenset(role.value for role in model.Role)


class Example(Struct, frozen=True):
    """An example with its inspection; `is_sketch` means that it is a conversation and not a piece of a stream."""

    trace: model.Trace
    inspection: Inspection
    is_sketch: bool


class _SketchSection(Struct, frozen=True):
    """The text below one `@` line of a sketch."""

    name: str
    facts: dict[str, str]
    text: str


def read_example(text: str, format: str) -> Example:
    """Inspect an example. `text` is a Rule's `bad` or `good`; see `Rule` for sketches. Raises ValueError if invalid.

    An example of a file becomes one text with the faults of its unreadable records.
    """
    if format == FILE_FORMAT:
        trace = model.Trace((model.Turn(model.Role.USER, (model.Part("text", text),)),))
        faults = tuple(fault.at(1, "text") for fault in unreadable_faults(text))
        return Example(
            trace, structs.replace(inspect_trace(trace, select=("C5",)), diagnostics=faults), is_sketch=False
        )
    if format in (ROW_FORMAT, DATA_FORMAT):
        # Loaded lazily: the other rules' examples do not need the readers and checks of training data.
        examples = import_module("weaklink.ui.views.rule_samples")
        trace, inspection = (examples.verified_row if format == ROW_FORMAT else examples.linted_rows)(text)
        return Example(trace, inspection, is_sketch=format == ROW_FORMAT)
    is_sketch = text.startswith("@")
    turns = tuple(_turns(text)) if is_sketch else (model.Turn(model.Role.ASSISTANT, (model.Part("text", text),)),)
    trace = model.Trace(turns, format=format)
    return Example(trace, inspect_trace(trace), is_sketch)


def _turns(sketch: str) -> Iterator[model.Turn]:
    sections = list(_sections(sketch))
    starts = [index for index, section in enumerate(sections) if section.name in _ROLES]
    if not starts or starts[0]:
        raise ValueError(f"a sketch must begin with a turn, not with {sketch.splitlines()[0]}")
    for start, end in pairwise((*starts, len(sections))):
        head, *more = sections[start:end]
        rest = [section for section in more if not section.name.startswith(("sent:", "run"))]
        text_sections = [structs.replace(head, name="text")] if head.text or not rest else []
        parts = tuple(_part(section) for section in (*text_sections, *rest))
        calls = tuple(_call(section) for section in rest if section.name.startswith("call:"))
        role = model.Role(head.name)
        result = model.ResultHeader(head.facts.get("id"), is_error="error" in head.facts or None)
        yield model.Turn(
            role,
            parts,
            calls=calls,
            result=result if role is model.Role.TOOL else None,
            generation=_generation(head.facts, more) if role is model.Role.ASSISTANT else None,
            run=_run(more),
        )


def _sections(sketch: str) -> Iterator[_SketchSection]:
    for piece in f"\n{sketch}".split("\n@")[1:]:
        head, _, text = piece.partition("\n")
        name, *words = head.split(" ")
        pairs = (word.partition("=") for word in words)
        yield _SketchSection(name, {key: value for key, _, value in pairs}, text)


def _part(section: _SketchSection) -> model.Part:
    facts = section.facts
    if "cuts" not in facts:
        return model.Part(section.name, section.text)
    ends = (*_numbers(facts["cuts"]), len(section.text))
    sequences = tuple(_numbers(facts["sequences"])) if "sequences" in facts else tuple(range(len(ends)))
    offsets = tuple(float(word) for word in facts["offsets_s"].split(",")) if "offsets_s" in facts else None
    return model.Part(section.name, section.text, model.Chunks(ends, sequences, offsets))


def _call(section: _SketchSection) -> model.CallHeader:
    return model.CallHeader(section.name, section.facts.get("name"), section.facts.get("id"))


def _run(sections: Sequence[_SketchSection]) -> model.RecordedRun | None:
    """The tool's own record of a result: `@run` has its text, `@run:arguments` its arguments."""
    by_name = {section.name: section for section in sections if section.name.startswith("run")}
    if "run" not in by_name:
        return None
    facts, arguments = by_name["run"].facts, by_name.get("run:arguments")
    arguments_text = None if arguments is None else arguments.text
    return model.RecordedRun("span", facts.get("name", ""), facts.get("id"), arguments_text, by_name["run"].text)


def _request(facts: dict[str, str], sections: Sequence[_SketchSection]) -> model.SentRequest | None:
    """The request that `sent` lists by turn numbers, with the changed texts of `@sent:N`."""
    if "sent" not in facts:
        return None
    changed: dict[int, list[_SketchSection]] = {}
    for section in sections:
        if section.name.startswith("sent:"):
            number, _, part = section.name.removeprefix("sent:").partition("/")
            changed.setdefault(int(number), []).append(structs.replace(section, name=part or "text"))
    return model.SentRequest(
        messages=tuple(
            _message(number, changed[number]) if number in changed else number for number in _numbers(facts["sent"])
        )
    )


def _message(number: int, sections: Sequence[_SketchSection]) -> model.SentMessage:
    calls = tuple(_call(section) for section in sections if section.name.startswith("call:"))
    parts = tuple(model.SentPart(section.name, section.text.removesuffix("\n")) for section in sections)
    return model.SentMessage(model.Role.ASSISTANT if calls else model.Role.TOOL, parts, number, "", calls)


def _generation(facts: dict[str, str], sections: Sequence[_SketchSection]) -> model.Generation:
    error = None
    if "error" in facts:
        status = int(facts["status"]) if "status" in facts else None
        error = model.GenerationError(model.ErrorPhase(facts["error"]), facts.get("says", "").replace("_", " "), status)
    counted = {key: int(facts[key]) for key in ("input_tokens", "output_tokens", "reasoning_tokens") if key in facts}
    return model.Generation(
        parameters=facts.get("parameters", ""),
        usage=model.Usage(counted.get("input_tokens"), counted.get("output_tokens"), counted.get("reasoning_tokens")),
        finish_reason=facts.get("finish"),
        finish=model.FinishReason(facts["finish"]) if "finish" in facts else None,
        error=error,
        body=model.BodyState(facts.get("body", "complete")),
        api=facts.get("api", ""),
        attempt=int(facts.get("attempt", "1")),
        tools=tuple(model.ToolDefinition(name) for name in facts.get("tools", "").split(",") if name),
        request=_request(facts, sections),
    )


def _numbers(words: str) -> Iterator[int]:
    return (int(word) for word in words.split(","))


def rule_lines(rule: Rule, bad: Example | None, good: Example | None, *, width: int) -> Iterator[Line]:
    """The lines of `weaklink rules`; `bad` and `good` are the rule's parsed examples, or None if it has none."""
    readable = min(width, _MAX_WIDTH)
    for index, paragraph in enumerate(rule_paragraphs(rule)):
        if index:
            yield ()
        yield from wrapped(paragraph, readable)
    for example, heading in ((bad, Run("fails", Style.REMOVED)), (good, Run("passes", Style.ADDED))):
        if example is not None:
            yield ()
            yield (heading, Run(f"  in the format {rule.format}", Style.DIM))
            yield from example_lines(example, readable)


def rule_paragraphs(rule: Rule) -> Iterator[Line]:
    """What a rule says, a line per paragraph: its name, its summary, why it matters, and what to do."""
    yield (Run(f"{rule.severity.value}[{rule.code}]", style_of(rule.severity)), Run(f" {rule.name}", Style.STRONG))
    yield quoted(rule.summary, Style.STRONG)
    yield quoted(rule.explanation)
    if rule.remedy:
        yield (Run("What to do: ", Style.STRONG), *quoted(rule.remedy))


def example_lines(example: Example, width: int) -> Iterator[Line]:
    """An example with all its diagnostics: a marked piece of a stream, or a small conversation turn by turn."""
    if not example.is_sketch:
        (part,) = example.trace.turns[0].parts
        faults = [diagnostic.fault for diagnostic in example.inspection.diagnostics]
        spans = example.inspection.parts[0].spans
        yield from marked_lines(part.text, spans, faults, width=width)
        return
    parts: defaultdict[int, list[PartInspection]] = defaultdict(list)
    wrong: defaultdict[int, list[Diagnostic]] = defaultdict(list)
    for inspected in example.inspection.parts:
        parts[inspected.turn].append(inspected)
    for diagnostic in example.inspection.diagnostics:
        wrong[diagnostic.location.turn].append(diagnostic)
    steps = StepPlaces(example.inspection.chain)
    for number, turn in enumerate(example.trace.turns, 1):
        yield from turn_lines(turn, number, parts[number], wrong[number], width=width, steps=steps)


def rule_table(families: Sequence[tuple[str, str, Sequence[Rule]]], *, width: int) -> Iterator[Line]:
    """The table of rules, one per line, by family."""
    for prefix, title, rules in families:
        yield (Run(f"{prefix}xx", Style.STRONG), Run(f"  {title}"))
        rows = [
            (
                (Run(f"  {rule.code}", style_of(rule.severity)),),
                (Run(rule.name, Style.STRONG),),
                (Run(rule.severity.value, style_of(rule.severity)),),
                quoted(rule.summary),
            )
            for rule in rules
        ]
        yield from table_lines(rows, width=width)
        yield ()


def rule_object(rule: Rule) -> RuleJson:
    """A rule as JSON for `--json`."""
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "summary": rule.summary,
        "explanation": rule.explanation,
        "remedy": rule.remedy,
        "bad": rule.bad,
        "good": rule.good,
        "format": rule.format,
    }
