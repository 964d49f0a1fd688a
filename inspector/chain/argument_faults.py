"""Arguments that were never filled in, or whose value nobody gave: T411 and T412."""

import re
from collections.abc import Iterator, Sequence

from inspector.chain.data_flow import DataFlow, Flow
from inspector.chain.excerpt import quoted, tool_named
from inspector.chain.origins import OriginKind
from inspector.chain.steps import Step
from inspector.chain.terminal_tools import bare_name, is_terminal
from inspector.checks.argument_places import ArgumentPlaces
from inspector.diagnostics import Diagnostic, Fault
from inspector.model import Role, Trace
from inspector.rules import conversation as rules

# What stands for a value instead of being one. Each is the whole argument; a part of a longer text may be meant so.
_PLACEHOLDER = re.compile(
    r"<(?!/?(?:br|hr|p|b|i|div|span|ul|li|html|body)>)[A-Za-z][\w .:-]{2,60}>"  # <previous_result>
    r"|\{\{[^{}]{1,80}\}\}"  # {{user_id}}
    r"|\$\{?[A-Za-z_]\w*(?:\[\d+\]|\.[A-Za-z_]\w*)+(?:\[\d+\])*\}?"  # $results[0].url
    r"|\$\{?(?:step|prev|previous|result|results|output)(?:_?\w+)?\}?"  # $step1_output
    r"|\[(?:insert|enter|your|previous|result of|output of|to be)\b[^\[\]]{0,60}\]",  # [insert name here]
    re.IGNORECASE,
)
# A user may speak of `your_dataset_name` and mean it: only where the user's words are there, and do not hold it.
_PLACEHOLDER_WORD = re.compile(
    r"(?:your|insert|replace|enter)[_-](?:\w+[_-])*(?:here|id|key|token|name|value|email|url|number)"  # YOUR_API_KEY
    r"|example(?:[_-](?:id|key|name|value|text|string))?"
    r"|(?:TODO|TBD|FIXME|PLACEHOLDER)",
    re.IGNORECASE,
)
_LONGEST_PLACEHOLDER = 90
_IDENTIFYING = re.compile(
    r"(?:^|_)(?:ids?|uuid|guid|number|no|code|ref|reference|account|invoice|ticket|tracking|sku|token|email|phone|"
    r"iban|isbn|vin|hash|sha)$"
)
_ID = re.compile(
    r"(?=\S*\d{4})[\w#+.:@/-]{5,64}|(?=\S*\d\d)(?=\S*[A-Za-z])[\w#-]{6,64}|[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+"
)
_DATE = re.compile(r"\d{4}-\d\d|\d{1,2}[:/.]\d\d")
_CREATES = frozenset(
    ["create", "add", "new", "make", "register", "generate", "insert", "init", "open", "start", "allocate"]
)


def argument_diagnostics(trace: Trace, steps: Sequence[Step], flow: DataFlow) -> Iterator[Diagnostic]:
    """T411 and T412 for the calls that could be read, each at the characters of its value."""
    may_know_all = _is_whole(trace)
    by_number = {step.number: step for step in steps}
    for one in flow.flows:
        step = by_number[one.step]
        if one.is_trivial or not isinstance(step.call.arguments, dict) or not isinstance(one.value, (str, int)):
            continue
        text = str(one.value)
        given = any(origin.kind is not OriginKind.ARGUMENT for origin in one.origins)
        if not given and _is_placeholder(text.strip(), may_be_a_word=may_know_all):
            message = f"`{_name(one)}` is {quoted(text)}: a placeholder that nothing filled in."
            yield _at(step, one, Fault(rules.PLACEHOLDER_ARGUMENT, step.location.range, message, _FILL))
        elif may_know_all and not one.origins and _names_something(step, one, text):
            message = (
                f"`{_name(one)}` of {tool_named(step.call.name)} is {quoted(text)}, which neither the user nor a tool "
                f"nor the system prompt gave before."
            )
            yield _at(step, one, Fault(rules.UNSUPPORTED_ARGUMENT, step.location.range, message, _ASK))


_FILL = "Make this call after the one whose result it needs, with the value from there."
_ASK = "Look the value up with a tool, or ask for it."


def _is_placeholder(text: str, *, may_be_a_word: bool) -> bool:
    if len(text) > _LONGEST_PLACEHOLDER:
        return False
    return bool(_PLACEHOLDER.fullmatch(text) or (may_be_a_word and _PLACEHOLDER_WORD.fullmatch(text)))


def _is_whole(trace: Trace) -> bool:
    """Whether all that the agent was told is in the trace: it begins with its user, in words, and continues none."""
    told = [turn for turn in trace.turns if turn.role is Role.USER]
    first = next((turn for turn in trace.turns if turn.role is not Role.SYSTEM), None)
    if trace.parent is not None or first is None or first.role is not Role.USER:
        return False
    return all(part.name == "text" for turn in told for part in turn.parts)


def _names_something(step: Step, flow: Flow, text: str) -> bool:
    """Whether a value is an id of what must already be there."""
    name = step.call.name or ""
    if is_terminal(name) or _CREATES.intersection(bare_name(name).split("_")):
        return False
    key = next((word for word in reversed(flow.pointer.split("/")) if not word.isdigit()), "")
    return bool(_IDENTIFYING.search(bare_name(key)) and _ID.fullmatch(text) and not _DATE.match(text))


def _name(flow: Flow) -> str:
    return flow.pointer.removeprefix("/").replace("/", ".")


def _at(step: Step, flow: Flow, fault: Fault) -> Diagnostic:
    path = [part.replace("~1", "/").replace("~0", "~") for part in flow.pointer.split("/")[1:]]
    place = ArgumentPlaces(step.call).of([int(part) if part.isdigit() else part for part in path])
    told = Fault(fault.rule, place, fault.message, fault.hint, path=flow.pointer)
    return told.at(step.location.turn, step.location.part)
