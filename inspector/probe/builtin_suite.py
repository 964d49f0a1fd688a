"""The built-in suite: 62 requests in 12 families, each with a right answer that a competent model cannot miss.

Each request names the tool and quotes every argument, so the answer is not a matter of judgement: what is measured is
whether the call arrives, not whether the model is clever. Temperature is 0, answers are short. Families are the
features in which servers differ: each exists because a server is known to break it.
"""

from collections.abc import Iterator, Sequence

from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json
from weaklink.inspector.probe.suite import ExpectedAnswer, ProbeRequest, SuiteCall

Object = dict[str, Json]
_TEXT: Object = {"type": "string"}
_MAX_TOKENS = 1024
_MANY_MESSAGES = 60


def _tool(
    name: str, description: str, properties: Object, *, optional: Sequence[str] = (), definitions: Object | None = None
) -> Object:
    required: list[Json] = [key for key in properties if key not in optional]
    parameters: Object = {"type": "object", "properties": properties, "required": required}
    if definitions is not None:
        parameters["$defs"] = definitions
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _strict(tool: Object) -> Object:
    function = tool["function"]
    assert isinstance(function, dict), "_tool made it"
    parameters = function["parameters"]
    assert isinstance(parameters, dict), "_tool made it"
    return {
        **tool,
        "function": {**function, "strict": True, "parameters": {**parameters, "additionalProperties": False}},
    }


_WEATHER = _tool("get_weather", "The current weather in a city.", {"city": _TEXT})
_TIME = _tool("get_time", "The current time in a city.", {"city": _TEXT})
_NOW = _tool("get_server_time", "The server's time. Takes no arguments.", {})
_SAVE = _tool("save_note", "Store a note.", {"title": _TEXT, "text": _TEXT})
_ADD = _tool("add", "Add two integers.", {"a": {"type": "integer"}, "b": {"type": "integer"}})
_RUN = _tool("run_shell", "Run a command in a shell.", {"command": _TEXT})
_SEARCH = _tool(
    "search_flights",
    "Search for flights.",
    {
        "from": _TEXT,
        "to": _TEXT,
        "date": {"type": "string", "format": "date"},
        "cabin": {"type": "string", "enum": ["economy", "business", "first"]},
        "adults": {"type": "integer", "minimum": 1, "maximum": 9},
    },
)
_ORDER = _tool(
    "create_order",
    "Create an order.",
    {
        "customer": {"$ref": "#/$defs/person"},
        "items": {"type": "array", "items": {"$ref": "#/$defs/item"}, "minItems": 1},
    },
    definitions={
        "person": {
            "type": "object",
            "properties": {"name": _TEXT, "email": {"type": "string", "format": "email"}},
            "required": ["name", "email"],
        },
        "item": {
            "type": "object",
            "properties": {"sku": _TEXT, "quantity": {"type": "integer"}, "gift": {"type": "boolean"}},
            "required": ["sku", "quantity", "gift"],
        },
    },
)
_TREE = _tool(
    "store_tree",
    "Store a tree of named nodes.",
    {"root": {"$ref": "#/$defs/node"}},
    definitions={
        "node": {
            "type": "object",
            "properties": {"name": _TEXT, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "required": ["name", "children"],
        }
    },
)
_SET = _tool(
    "set_option",
    "Set an option to a text, a number, a flag or null.",
    {"name": _TEXT, "value": {"type": ["string", "number", "boolean", "null"]}},
)
_PLACE = _tool(
    "mark_place",
    "Mark a place on a map.",
    {
        "point": {
            "type": "object",
            "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}},
            "required": ["lat", "lon"],
        },
        "tags": {"type": "array", "items": _TEXT},
        "color": {"type": "string", "enum": ["red", "green", "blue"]},
    },
)
_OPTIONAL = _tool("list_files", "List files in a folder.", {"folder": _TEXT, "pattern": _TEXT}, optional=("pattern",))


def builtin_suite() -> tuple[ProbeRequest, ...]:
    """The requests, numbered from 1."""
    families = (
        ("one call", _one_call),
        ("several calls", _several_calls),
        ("no call", _no_call),
        ("nested schemas", _nested_schemas),
        ("strict mode", _strict_mode),
        ("long and Unicode arguments", _difficult_arguments),
        ("markers in arguments", _markers),
        ("tool choice", _tool_choice),
        ("conversation", _conversation),
        ("reasoning", _reasoning),
        ("long context", _long_context),
        ("JSON mode", _json_mode),
    )
    rows = [(family, body, expected) for family, make in families for body, expected in make()]
    counts: dict[str, int] = {}
    requests = []
    for number, (family, body, expected) in enumerate(rows, 1):
        counts[family] = counts.get(family, 0) + 1
        id_ = f"{family.replace(' ', '-').lower()}-{counts[family]}"
        settings: Object = {"temperature": 0, "max_tokens": _MAX_TOKENS}
        extends = "chat_template_kwargs" in body
        requests.append(ProbeRequest(number, id_, family, {**settings, **body}, expected, is_extension=extends))
    return tuple(requests)


_Row = tuple[Object, ExpectedAnswer]


def _ask(words: str, *tools: Object, **settings: Json) -> Object:
    messages: list[Json] = [{"role": "user", "content": words}]
    return {"messages": messages, **({"tools": [*tools]} if tools else {}), **settings}


def _calls(*calls: tuple[str, Object]) -> ExpectedAnswer:
    return ExpectedAnswer(tuple(SuiteCall(name, arguments) for name, arguments in calls))


def _called(name: str, arguments: Object, *tools: Object, **settings: Json) -> _Row:
    words = (
        f"Call the tool `{name}` exactly once, with exactly these arguments: {write_json(arguments, ascii_only=False)}"
    )
    return _ask(words, *tools, **settings), _calls((name, arguments))


def _one_call() -> Iterator[_Row]:
    yield _ask("What is the weather in Oslo? Use the tool.", _WEATHER), _calls(("get_weather", {"city": "Oslo"}))
    yield _called("get_time", {"city": "Bergen"}, _WEATHER, _TIME)
    yield _called("get_server_time", {}, _NOW)
    yield _called("add", {"a": 12, "b": -30}, _ADD)
    yield _called("list_files", {"folder": "/tmp"}, _OPTIONAL)
    yield _called("list_files", {"folder": "src", "pattern": "*.py"}, _OPTIONAL)


def _several_calls() -> Iterator[_Row]:
    yield _several(("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Bergen"}))
    yield _several(("get_weather", {"city": "Rome"}), ("get_time", {"city": "Rome"}))
    yield _several(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4}), ("add", {"a": 5, "b": 6}))
    yield _several(("get_server_time", {}), ("get_weather", {"city": "Lima"}))
    cities: list[tuple[str, Object]] = [
        ("get_time", {"city": city}) for city in ("Oslo", "Rome", "Lima", "Cairo", "Delhi")
    ]
    yield _several(*cities)


def _several(*calls: tuple[str, Object]) -> _Row:
    listed = "; ".join(f"`{name}` with {write_json(arguments)}" for name, arguments in calls)
    words = f"Make exactly these {len(calls)} tool calls at once, in parallel, in one answer: {listed}"
    return _ask(words, _WEATHER, _TIME, _ADD, _NOW), _calls(*calls)


def _no_call() -> Iterator[_Row]:
    for words, answer in (
        ("Do not call a tool. Answer with the single word `Paris`.", "Paris"),
        ("What is 2 + 2? Answer with the digit only; no tool is needed.", "4"),
        ("Repeat this word and nothing else, without calling a tool: weaklink", "weaklink"),
        ("Thanks, that is all. Reply with the single word `Goodbye`; do not call a tool.", "Goodbye"),
    ):
        yield _ask(words, _WEATHER, _TIME), ExpectedAnswer((), (answer,))
    yield _ask("Answer with the single word `yes`."), ExpectedAnswer((), ("yes",))


def _nested_schemas() -> Iterator[_Row]:
    person: Object = {"name": "Ada Berg", "email": "ada@example.org"}
    item: Object = {"sku": "A-1", "quantity": 2, "gift": False}
    yield _called("create_order", {"customer": person, "items": [item]}, _ORDER)
    gift: Object = {"sku": "B-7", "quantity": 1, "gift": True}
    yield _called("create_order", {"customer": person, "items": [item, gift]}, _ORDER)
    leaf: Object = {"name": "leaf", "children": []}
    yield _called("store_tree", {"root": {"name": "top", "children": [leaf, {"name": "b", "children": [leaf]}]}}, _TREE)
    flight: Object = {"from": "OSL", "to": "FCO", "date": "2026-12-24", "cabin": "business", "adults": 2}
    yield _called("search_flights", flight, _SEARCH)
    point: Object = {"point": {"lat": 59.91, "lon": 10.75}, "tags": ["home", "work"], "color": "green"}
    yield _called("mark_place", point, _PLACE)
    yield _called("set_option", {"name": "limit", "value": None}, _SET)
    yield _called("set_option", {"name": "depth", "value": 3}, _SET)


def _strict_mode() -> Iterator[_Row]:
    yield _called("get_weather", {"city": "Oslo"}, _strict(_WEATHER))
    yield _called("add", {"a": 7, "b": 8}, _strict(_ADD))
    flight: Object = {"from": "JFK", "to": "LHR", "date": "2027-01-05", "cabin": "economy", "adults": 1}
    yield _called("search_flights", flight, _strict(_SEARCH))
    yield _called("save_note", {"title": "t", "text": "line"}, _strict(_SAVE), _strict(_WEATHER))


def _difficult_arguments() -> Iterator[_Row]:
    for title, text in (
        ("quotes", 'She said "no", and then \\ went on.'),
        ("lines", "first line\nsecond line\n\tindented\n"),
        ("Norwegian", "Blåbærsyltetøy på brødskiva"),
        ("Chinese", "今天天气很好，我们去公园散步吧。"),
        ("emoji", "ship it 🚀👩‍🔬🇳🇴 now"),
        ("right to left", "שלום עולם مرحبا"),
        ("code", "def f(x):\n    return {'a': [x, \"b\"], 'c': r'\\d+'}\n"),
        ("long", " ".join(f"item {number}" for number in range(1, 121))),
    ):
        yield _called("save_note", {"title": title, "text": text}, _SAVE)


def _markers() -> Iterator[_Row]:
    for title, text in (
        ("hermes", 'the markup <tool_call>{"name": "x", "arguments": {}}</tool_call> is text'),
        ("think", "<think>not a thought</think> is text"),
        ("brackets", "[TOOL_CALLS] and [/INST] are text"),
        ("fence", '```json\n{"name": "get_weather"}\n```'),
        ("xml", "<function=run><parameter=a>1</parameter></function>"),
        ("closing brace", "}} ]] }, { ' \" are text"),
    ):
        yield _called("save_note", {"title": title, "text": text}, _SAVE)


def _tool_choice() -> Iterator[_Row]:
    weather = _calls(("get_weather", {"city": "Oslo"}))
    words = "The city is Oslo."
    yield _ask(words, _WEATHER, tool_choice="required"), weather
    named: Object = {"type": "function", "function": {"name": "get_weather"}}
    yield _ask(words, _WEATHER, _TIME, tool_choice=named), weather
    yield _ask("What is the capital of Norway? One word.", _WEATHER, tool_choice="none"), ExpectedAnswer((), ("Oslo",))
    yield _called("get_weather", {"city": "Lima"}, _WEATHER, parallel_tool_calls=False)
    yield _called("run_shell", {"command": "ls -la | grep '\"x\"'"}, _RUN, _WEATHER, tool_choice="auto")


def _conversation() -> Iterator[_Row]:
    first = _call("call_1", "get_weather", {"city": "Oslo"})
    asked: Object = {"role": "user", "content": "Weather in Oslo, then in Bergen. One call at a time, please."}
    called: Object = {"role": "assistant", "content": None, "tool_calls": [first]}
    result: Object = {"role": "tool", "tool_call_id": "call_1", "content": "4 degrees, light rain"}
    bergen = _calls(("get_weather", {"city": "Bergen"}))
    yield {"messages": [asked, called, result], "tools": [_WEATHER]}, bergen
    ask: Object = {"role": "user", "content": "Weather in Oslo? Then answer with the number of degrees only."}
    yield {"messages": [ask, called, result], "tools": [_WEATHER]}, ExpectedAnswer((), ("4",))
    failed: Object = {"role": "tool", "tool_call_id": "call_1", "content": "error: city `Oslo` unknown, use `Oslo, NO`"}
    ask = {"role": "user", "content": "Weather in Oslo? If the tool reports an error, call it again as it says."}
    again = _calls(("get_weather", {"city": "Oslo, NO"}))
    yield {"messages": [ask, called, failed], "tools": [_WEATHER]}, again
    both: Object = {
        "role": "assistant",
        "content": "",
        "tool_calls": [first, _call("call_2", "get_time", {"city": "Oslo"})],
    }
    results: list[Json] = [result, {"role": "tool", "tool_call_id": "call_2", "content": "12:30"}]
    ask = {"role": "user", "content": "Weather and time in Oslo? Answer with the time only, as HH:MM."}
    yield {"messages": [ask, both, *results], "tools": [_WEATHER, _TIME]}, ExpectedAnswer((), ("12:30",))
    system: Object = {"role": "system", "content": "You are a weather service. Always use the tools."}
    ask = {"role": "user", "content": "Weather in Bergen?"}
    yield {"messages": [system, ask], "tools": [_WEATHER, _TIME]}, bergen


def _call(id_: str, name: str, arguments: Object) -> Object:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": write_json(arguments)}}


def _reasoning() -> Iterator[_Row]:
    """Thinking on and off, as the chat templates of Qwen3, GLM, DeepSeek and others name it."""
    for is_on in (True, False):
        switch: Json = {"enable_thinking": is_on, "thinking": is_on}
        yield _called("get_weather", {"city": "Oslo"}, _WEATHER, chat_template_kwargs=switch)
        body = _ask("What is 3 + 4? Answer with the digit only.", _WEATHER, chat_template_kwargs=switch)
        yield body, ExpectedAnswer((), ("7",))


def _long_context() -> Iterator[_Row]:
    filler = " ".join(f"Record {number}: nothing of note." for number in range(1, 401))
    name, city = "get_weather", "Tromso"
    yield (
        _ask(f"{filler}\n\nIgnore the records. Call `{name}` for the city `{city}`.", _WEATHER),
        _calls((name, {"city": city})),
    )
    others = [_tool(f"unused_{number}", "Never use this tool.", {"value": _TEXT}) for number in range(1, 41)]
    yield _called(name, {"city": "Quito"}, *others, _WEATHER)
    talk: list[Json] = []
    for number in range(1, _MANY_MESSAGES + 1, 2):
        talk.append({"role": "user", "content": f"Say {number}."})
        talk.append({"role": "assistant", "content": f"{number}"})
    last: Object = {"role": "user", "content": "Now call `get_weather` for the city `Accra`."}
    yield {"messages": [*talk, last], "tools": [_WEATHER]}, _calls((name, {"city": "Accra"}))


def _json_mode() -> Iterator[_Row]:
    city: Object = {
        "type": "object",
        "properties": {"city": {"type": "string", "const": "Oslo"}, "population": {"type": "integer"}},
        "required": ["city", "population"],
        "additionalProperties": False,
    }
    words = "Give the city `Oslo` and the population 700000 as a JSON object with the keys `city` and `population`."
    form: Object = {"type": "json_schema", "json_schema": {"name": "city", "schema": city, "strict": True}}
    yield _ask(words, response_format=form), ExpectedAnswer((), (), city)
    yield _ask(words, response_format={"type": "json_object"}), ExpectedAnswer((), (), city)
    listed: Object = {
        "type": "object",
        "properties": {"words": {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "minItems": 3}},
        "required": ["words"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "words", "schema": listed, "strict": True}}
    words = "Give the words a, b and c as a JSON object with the key `words`."
    yield _ask(words, response_format=form), ExpectedAnswer((), (), listed)
    yield _ask(words, _WEATHER, response_format=form), ExpectedAnswer((), (), listed)
