"""An answer of `weaklink segment` as the few lines that a case file expects.

Nothing of the answer is lost: what the lines leave out follows from the text and the lines. The inner range of a span
is its whole range where none is written; content and reasoning are the inner texts of their spans; raw arguments are
the arguments as written, where those are valid JSON; the text in backticks repeats the range, shortened.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

Answer = dict[str, Any]

KEYS = ("spans", "calls", "content", "reasoning", "diagnostics")
_LONGEST_QUOTE = 48


def expectation(answer: Answer, text: str) -> dict[str, str]:
    """The keys of `KEYS` that the answer needs, each with its lines."""
    lines = {
        "spans": [line for span in answer["spans"] for line in _span_lines(span, text)],
        "calls": [line for call in answer["tool_calls"] for line in _call_lines(call, f"span {call['span']}, ")],
        "diagnostics": [line for diagnostic in answer["diagnostics"] for line in _diagnostic_lines(diagnostic, text)],
    }
    by_key = {key: "".join(f"{line}\n" for line in lines[key]) for key in lines if lines[key]}
    for key, kind in (("content", "text"), ("reasoning", "reasoning")):
        inner = (text[span["inner_start"] : span["inner_end"]] for span in answer["spans"] if span["kind"] == kind)
        if answer[key] != "".join(inner):
            by_key[key] = answer[key]
    return {key: by_key[key] for key in KEYS if key in by_key}


def _span_lines(span: Answer, text: str) -> Iterator[str]:
    kind, label = span["kind"], span["label"]
    start, end, inner_start, inner_end = (span[key] for key in ("start", "end", "inner_start", "inner_end"))
    line = kind if label == ("" if kind == "text" else kind) else f"{kind}/{label}"
    line += f" {start}-{end}"
    if (start, end) != (inner_start, inner_end):
        line += f" inner {inner_start}-{inner_end}"
    line += "" if span["closed"] else " open"
    yield f"{line}: {_outline(text[start:inner_start], text[inner_start:inner_end], text[inner_end:end])}"
    for child in span["children"]:
        yield from ("  " + line for line in _span_lines(child, text))


def _outline(opener: str, inner: str, closer: str) -> str:
    """The text of a span; a long one that has markers is shown by them."""
    if not opener + closer or len(opener + inner + closer) <= _LONGEST_QUOTE:
        return quoted_excerpt(opener + inner + closer)
    return " … ".join(filter(None, (opener and quoted_excerpt(opener), closer and quoted_excerpt(closer))))


def _call_lines(call: Answer, prefix: str) -> Iterator[str]:
    """A call and the raw text of its arguments, where it is not the arguments in plain JSON."""
    raw, arguments = call["raw_arguments"], json.dumps(call["arguments"], ensure_ascii=False)
    is_unreadable = not call.get("valid") and not call["recovered"]
    is_plain = not is_unreadable and raw.isprintable() and raw == raw.strip() and _is_json(raw, arguments)
    id = f", id {_name(call['id'])}" if call.get("id") is not None else ""
    line = f"{prefix}{call['start']}-{call['end']}, {_state(call)}{id}: {_name(call['name'])}"
    yield line if is_unreadable else f"{line} {raw if is_plain else escaped(arguments)}"
    if not is_plain:
        yield from (f"  {line}" for line in _labelled("raw:", raw, verbatim))


def _state(call: Answer) -> str:
    words = [word for word in ("valid", "recovered") if call.get(word)]
    return " and ".join(words) or "unreadable"


def _is_json(raw: str, arguments: str) -> bool:
    """Whether a strict JSON parser reads these arguments from the raw text, in this order."""
    try:
        return json.dumps(json.loads(raw), ensure_ascii=False) == arguments
    except (ValueError, RecursionError):
        return False


def _diagnostic_lines(diagnostic: Answer, text: str) -> Iterator[str]:
    code, name, severity = (diagnostic[key] for key in ("code", "name", "severity"))
    yield f"{code} {name}, {severity}, {_place(diagnostic, text)}"
    yield f"  {verbatim(diagnostic['message'])}"
    if diagnostic["hint"] is not None:
        yield f"  hint: {verbatim(diagnostic['hint'])}"
    if diagnostic["fix"]:
        yield "  fix:" if diagnostic["fix"]["safe"] else "  unsafe fix:"
        yield from (f"    {line}" for line in _edit_lines(diagnostic["fix"]["edits"], text))
    if diagnostic["path"] is not None:
        yield f"  path: {verbatim(diagnostic['path'])}"
    if diagnostic.get("call"):
        yield from ("  " + line for line in _call_lines(diagnostic["call"], "call "))
    for related in diagnostic.get("related", ()):
        yield f"  see {_place(related, text)}"
        yield f"    {verbatim(related['message'])}"


def _place(ranged: Answer, text: str) -> str:
    excerpt = quoted_excerpt(text[ranged["start"] : ranged["end"]])
    return f"{ranged['start']}-{ranged['end']} ({ranged['line']}:{ranged['column']}): {excerpt}"


def _edit_lines(edits: list[Answer], text: str) -> Iterator[str]:
    """The edits in words, alike ones together; they are made in the order of their places."""
    places: dict[tuple[str, str], list[str]] = {}
    for edit in edits:
        old, new, start = text[edit["start"] : edit["end"]], edit["text"], edit["start"]
        location = f"{start}-{edit['end']}" if old else f"{start}"
        words = "insert" if not old else f"{'replace' if new else 'delete'} {quoted_excerpt(old)}"
        places.setdefault((words, new), []).append(location)
    for (words, new), ranges in places.items():
        line = f"{words} at {', '.join(ranges)}"
        yield from _labelled(f"{line}:" if words == "insert" else f"{line} with", new, _quoted) if new else [line]


def _labelled(label: str, text: str, written: Callable[[str], str]) -> Iterator[str]:
    """A label and a text beside it, or below it, each line after a bar, where it has lines that show as they are."""
    lines = text.split("\n")
    if len(lines) > 1 and all(line.isprintable() and not line.endswith(" ") for line in lines):
        yield label
        yield from (f"  | {line}".rstrip() for line in lines)
    else:
        yield f"{label} {written(text)}"


def _name(name: str | None) -> str:
    if name is None:
        return "(no name)"
    return name if re.fullmatch(r"[\w.:-]+", name) else escaped(json.dumps(name, ensure_ascii=False))


def verbatim(text: str) -> str:
    """A text as it is, or as a JSON string where something of it would not show."""
    is_shown = text and text.isprintable() and text == text.strip() and not text.startswith('"')
    return text if is_shown else escaped(json.dumps(text, ensure_ascii=False))


def _quoted(text: str) -> str:
    """A text in backticks, or as a JSON string where something of it would not show."""
    is_shown = text and text.isprintable() and "`" not in text
    return f"`{text}`" if is_shown else escaped(json.dumps(text, ensure_ascii=False))


def quoted_excerpt(text: str) -> str:
    half = _LONGEST_QUOTE // 2
    return _quoted(text if len(text) <= _LONGEST_QUOTE else f"{text[:half]}…{text[-half:]}")


def escaped(text: str) -> str:
    """JSON with an escape for each character that does not show."""
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)
