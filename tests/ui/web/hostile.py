"""A database in which every field that a source or a user fills holds an attack on the page that shows it."""

from pathlib import Path

from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    CallHeader,
    Chunks,
    ErrorPhase,
    ExternalId,
    Generation,
    GenerationError,
    Instant,
    Json,
    Outcome,
    ParentTrace,
    ParentWhy,
    Part,
    Provenance,
    ResultHeader,
    Role,
    ToolDefinition,
    Trace,
    Turn,
    Usage,
)
from weaklink.storage.store import open_store

MARKER = "hostile-marker"
"""A word of every attack, by which a test knows that what it looks at was shown at all."""

ATTACKS = (
    "<script>window.attacked = 1; alert('script')</script>",
    "<img src=x onerror=\"window.attacked = 1; alert('img')\">",
    "<svg onload=alert(1)><a xlink:href='javascript:alert(2)'>x</a></svg>",
    '"><iframe src="javascript:alert(3)"></iframe><style>body{display:none}</style>',
    "</style></script></textarea></title><b onmouseover=alert(4)>b</b>",
    "**bold** _it_ `code` # head\n# title\n> quote\n- item\n\n| a | b |\n|---|---|\n| 1 | 2 |",
    "[link](javascript:alert(5)) [out](https://evil.example/a) ![pic](https://evil.example/p.png)",
    "![data](data:image/svg+xml;base64,PHN2Zz48L3N2Zz4=) <https://evil.example> https://evil.example/auto",
    "www.evil.example mail@evil.example data:text/html,<script>alert(6)</script>",
    "$x^2$ $$\\href{https://evil.example}{y}$$ \\(z\\) \\includegraphics{https://evil.example/t.png}",
    ":red[danger] :blue-background[b] :material/delete: :streamlit: :smile: :small[s] -> <- -- >=",
    "\x1b[31mred\x1b[0m \x1b]52;c;AAAA\x07 \x1b]8;;https://evil.example\x1b\\click \x9b2J",
    "\u202eturned\u2066 zero\u200b\u200dwidth\ufeff \u2028line \x00nul \ud800 \udfff \U000e0041tag",
    "{{constructor.constructor('alert(7)')()}} ${alert(8)} %0d%0aSet-Cookie:a=b ' OR 1=1 --",
)
ALL = f"{MARKER} " + " ".join(ATTACKS)
_LONG = f"{MARKER} " + "<b>x</b>$y$" * 9_100
_DEPTH = 400


def hostile_traces() -> list[Trace]:
    """A trace an attack, each in every field; then one with all attacks, one with a long line, one with deep JSON."""
    kinds = (*(f"{MARKER} {attack}" for attack in ATTACKS), ALL, _LONG)
    return [*(_trace(words, number) for number, words in enumerate(kinds, 1)), _deep()]


def make_hostile(database: Path) -> Path:
    """Keep the traces, and marks on the trace, a turn and a step of each."""
    with open_store(database) as store:
        for saved, trace in zip(
            store.save((trace, inspect_trace(trace)) for trace in hostile_traces()), hostile_traces(), strict=True
        ):
            note = trace.name[:2_000]
            for turn, step in ((None, None), (1, None), (None, 1)):
                store.marks.put(saved.id, turn=turn, step=step, note=note, author=note)
        store.search.index_pending()
    return database


def _trace(words: str, number: int) -> Trace:
    quoted = _quoted(words)
    arguments = f'{{"{quoted}": "{quoted}", "city": 7,}}'
    said = f'{words}<tool_call>\n{{"name": "{quoted}", "arguments": {{"city": "{quoted}",}}}}\n</tool_call>{words}'
    ends = (len(said) // 2, len(said))
    stream = Part("text", said, Chunks(ends, (0, 1), (0.2, 2.9)))
    schema: Json = {
        "type": "object",
        "title": words,
        "description": words,
        "properties": {words: {"type": "integer", "description": words}, "city": {"type": "string", "enum": [words]}},
        "required": [words, "city"],
    }
    made = Generation(
        api=words,
        requested_model=words,
        answered_model=words,
        parameters=words,
        tools=(ToolDefinition(words, words, schema, words), ToolDefinition("get_weather", words, schema, words)),
        started=Instant(1_700_000_000.0 + number),
        ended=Instant(1_700_000_003.0 + number),
        usage=Usage(120, 40),
        finish_reason=words,
        error=GenerationError(ErrorPhase.IN_STREAM, words, 500, words),
    )
    turns = (
        Turn(Role.SYSTEM, (Part("text", words),), source_role=words),
        Turn(Role.USER, (Part("text", words),), source_role=words),
        Turn(
            Role.ASSISTANT,
            (stream, Part(words, words), Part("call:0", arguments)),
            calls=(CallHeader("call:0", words, words),),
            generation=made,
        ),
        Turn(Role.TOOL, (Part("text", f"Error: {words}"),), result=ResultHeader(words, words, is_error=True)),
    )
    return Trace(
        turns,
        name=words,
        model=words,
        format="hermes",
        started=Instant(1_700_000_000.0 + number),
        external_ids=(ExternalId("session", f"{words} {number}"), ExternalId(words, words)),
        parent=ParentTrace(ExternalId(words, words), ParentWhy.SUBAGENT),
        outcome=Outcome(completed=False, exit_status=words),
        provenance=Provenance(words, words, record=f"{words} {number}", source_version=words, warnings=(words,)),
    )


def _quoted(words: str) -> str:
    """What stands between the quotes of a JSON string; its control characters stay, which is one more fault."""
    return words.replace("\\", "\\\\").replace('"', '\\"')


def _deep() -> Trace:
    deep = '{"a":' * _DEPTH + "1" + "}" * _DEPTH
    call = f'<tool_call>\n{{"name": "{MARKER}", "arguments": {deep}}}\n</tool_call>'
    turns = (Turn(Role.USER, (Part("text", MARKER),)), Turn(Role.ASSISTANT, (Part("text", call),)))
    return Trace(turns, name=f"{MARKER} deep", external_ids=(ExternalId("session", "deep"),))
