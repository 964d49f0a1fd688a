"""Formats derived from published chat templates, beside our own: every well-formed golden case, read by both.

`make bench-derived` fetches the templates that llama-cpp-python, trl and vLLM's sources have; WEAKLINK_TEMPLATES names
another folder. The family of a template is the format that weaklink knows for the model in its file's name. A case
counts if our format reads calls from it without any fault, and if it has the markers that this template writes: a
family has cases of all its models' spellings, a template only one. A difference with a diagnostic is "reported", one
without is "wrong".
"""

import os
import re
from collections import Counter
from pathlib import Path

from benchmarks.measuring import print_line
from tests.case_files import cases_of
from weaklink.inspector.chat_templates.derivation import derive_format
from weaklink.inspector.chat_templates.files import read_chat_template
from weaklink.inspector.errors import ChatTemplateError
from weaklink.inspector.formats.chat_turns import TURN_TRANSITIONS
from weaklink.inspector.formats.detection import expected_format
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.format_table import FormatTable, format_of
from weaklink.inspector.segmentation import Segmentation, segment_whole
from weaklink.ui.cli.files import tool_definitions

_CASES = Path(__file__).parents[1] / "tests" / "cases" / "formats"
_ROLE_MARKER = re.compile(r"<[^<>\s]*(?:system|user|assistant|SYSTEM|USER|CHATBOT)[^<>\s]*>")
_COMMON_HEADERS = tuple(transition.marker for transition in TURN_TRANSITIONS)
# What no template writes although the family's models do: code outside the JSON, ids of other versions.
_EXTENSIONS = ("<code>", "[CALL_ID]")
_DEFAULT = Path(__file__).parents[1] / "build" / "chat-templates"
# Families by the name of the file, where it is not the name of a model.
_NAMES = {
    r"llama3_[12]": "llama-3.1-8b",
    r"meta-llama-llama-3": "llama-3.1-8b",  # also of 3.2: its template writes JSON, and models the Python of the prompt
    r"fireworks": "firefunction-v2",
    r"lfm2": "lfm2-8b",
    r"deepseekv3": "deepseek-v3",
    r"deepseek_r1": "deepseek-r1",
    r"glm4moe": "glm-4.5",
    r"gptoss": "gpt-oss-20b",
    r"cohere": "command-r7b",
    r"nemotron_3": "nemotron-3-nano",
    r"qwen3_(?:5|6|8)": "qwen3.5",
    r"unsloth-mistral-devstral": "devstral-small-2507",
    r"moonshotai": "kimi-k2",
    r"cohereforai-c4ai-command-r-plus": "command-r-plus",
    r"tool_chat_template_deepseekr1": "deepseek-r1",
    r"tool_chat_template_deepseekv31": "deepseek-v3.1",
    r"tool_chat_template_llama4_json": "llama-3.1-8b",  # JSON, where Llama 4's own template has Python
    r"tool_chat_template_qwen3coder": "qwen3-coder",
}


def derived() -> None:
    """Print one line a template, and the shares."""
    folder = Path(os.environ.get("WEAKLINK_TEMPLATES", _DEFAULT))
    totals: Counter[str] = Counter()
    print_line(f"{'template':50} {'family':16} result")
    for path in sorted(folder.rglob("*.jinja")):
        own = _family(path.stem)
        outcome, words = _compared(path, own)
        totals[outcome] += 1
        print_line(f"{path.stem[:50]:50} {own.name if own is not None else '-':16} {words}")
    count = sum(totals.values())
    print_line(f"{count} templates: " + ", ".join(f"{number} {outcome}" for outcome, number in totals.most_common()))
    shows = count - totals["show no calls"]
    print_line(
        f"equal on every case: {totals['equal']} of {shows} that show calls ({totals['equal'] / max(shows, 1):.0%})"
    )


def _family(stem: str) -> Format | None:
    name = next((name for pattern, name in _NAMES.items() if re.match(pattern, stem.lower())), stem)
    return expected_format(re.sub(r"^(deepseek-ai|meta-llama|mistralai|unsloth|Qwen)-", r"\1/", name))


def _compared(path: Path, own: Format | None) -> tuple[str, str]:
    try:
        table = derive_format(read_chat_template(path), "derived")
        read = format_of(table)
    except ChatTemplateError as error:
        shows = "shows no calls" not in str(error)
        return "not derivable" if shows else "show no calls", str(error)[:140]
    kind = f"{table.calls.kind} {table.calls.format}".strip()
    if own is None:
        return "derived, of no family of ours", kind
    equal = wrong = told = other = 0
    for case in (case for file in sorted((_CASES / own.name).glob("*.yaml")) for case in cases_of(file)):
        tools = tool_definitions(case.get("tools", []))
        expected = segment_whole(case["text"], own, prompt=case.get("prompt", ""), tools=tools)
        if not expected.calls or expected.diagnostics:
            continue
        if not _is_spelled(case["text"], table):
            other += 1
            continue
        segmentation = segment_whole(case["text"], read, prompt=case.get("prompt", ""), tools=tools)
        if _calls(segmentation) == _calls(expected):
            equal += 1
        else:
            is_told = bool(segmentation.diagnostics)
            told, wrong = told + is_told, wrong + (not is_told)
            _print_case("told" if is_told else "wrong", case["id"], expected, segmentation)
    words = f"{kind}: {equal} equal, {told} reported, {wrong} wrong ({other} cases in other spellings)"
    if wrong:
        return "with a wrong call", words
    if told:
        return "with a reported difference", words
    return ("equal" if equal else "derived, without a case of its spelling"), words


def _is_spelled(text: str, table: FormatTable) -> bool:
    """Whether a case's calls have the markers of this template, and its turns, if it has any, their headers."""
    calls = table.calls
    if calls.kind == "same":
        return True
    own = (table.roles.system, table.roles.user, table.roles.assistant)
    headers = (*filter(None, own), *_COMMON_HEADERS)
    if any(not match[0].startswith(headers) for match in _ROLE_MARKER.finditer(text)):
        return False
    if any(mark in text and mark not in calls.header for mark in _EXTENSIONS):
        return False
    if calls.is_array and re.search(re.escape(calls.section.opener) + r"\s*\[", text) is None:
        return False
    tags = calls.tags
    marks = (calls.section.opener, calls.opener, tags.before_name if tags is not None else "")
    header = re.split(r"(?:\[[A-Z_]+\]|<[^<>\s]+>)?\{\w+\}", calls.header)
    literals = [word for piece in header for word in piece.split()]
    return all(mark in text for mark in (*marks, *literals) if mark)


def _calls(read: Segmentation) -> list[str]:
    return [f"{call.name} {call.arguments!r}" for call in read.calls]


def _print_case(outcome: str, case: str, expected: Segmentation, segmentation: Segmentation) -> None:
    if os.environ.get("WEAKLINK_SHOW_CASES"):
        print_line(f"    {outcome}: {case}: {_calls(expected)[:3]}, read as {_calls(segmentation)[:3]}")
