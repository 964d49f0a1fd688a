"""J1xx, of what the JSON says: whether a payload is a call, and how its arguments stand in it."""

from inspector.rules.rule import Rule, Severity

SEVERAL_OBJECTS_IN_ONE_CALL = Rule(
    "J110",
    "several-objects-in-one-call",
    Severity.ERROR,
    "One call tag holds several calls, one behind the other or as an array.",
    "The format has one object to a tag. Servers read the first, the last or none, so an agent that wanted three "
    "things done gets one, and does not learn which. weaklink reads every one.",
    "Give each call a tag of its own, as the repair does; show parallel calls so in the prompt. If your tools must "
    "run one by one, say so there as well.",
    bad='<tool_call>\n{"name": "f", "arguments": {}}\n{"name": "g", "arguments": {}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\n'
    '<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>',
)
ARGUMENTS_AS_STRING = Rule(
    "J112",
    "arguments-as-string",
    Severity.ERROR,
    "`arguments` is a string that holds JSON, not an object.",
    "The OpenAI API sends arguments as a JSON string, and models copy that into formats where an object belongs. "
    "Servers then hand the tool a string, or refuse. weaklink reads the object inside.",
    "Look for a history that was put into the prompt in the API's shape: the template should decode `arguments` "
    "before it writes them.",
    bad='<tool_call>\n{"name": "f", "arguments": "{\\"a\\": 1}"}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
)
WRONG_ARGUMENTS_KEY = Rule(
    "J113",
    "wrong-arguments-key",
    Severity.WARNING,
    "The arguments stand under another key than the format's.",
    "Llama 3 says `parameters`, Hermes says `arguments`, and models mix them up. weaklink reads either; a strict "
    "server calls the tool with no arguments at all, and the agent blames the tool.",
    "Renaming the key is safe. Look which key the prompt's own examples and the tools' definitions show.",
    bad='<tool_call>\n{"name": "f", "parameters": {"a": 1}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
)
NOT_A_CALL = Rule(
    "J116",
    "not-a-call",
    Severity.ERROR,
    "The payload is readable, but it is no call.",
    "Valid JSON is not yet a call: models echo a tool's schema, write the bare arguments, or an error object. Without "
    "a tool's name nothing can be executed, and inventing one would be a lie.",
    "Look what it is: an echo of a schema comes from a prompt that lists tools without showing a call; bare arguments "
    "from training on one single tool; an error object from results shown in call tags.",
    bad='<tool_call>\n{"city": "Oslo"}\n</tool_call>',
    good='<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
)
STRAY_KEY = Rule(
    "J125",
    "stray-key",
    Severity.WARNING,
    "A key stands beside the call's name and arguments.",
    "Servers ignore such a key, so an argument that slipped out of `arguments` is lost without a word: the tool runs, "
    "with a default in its place.",
    "Moving it in is a suggestion. If the tool has no parameter of that name, the model made it up: compare with the "
    "tool's schema.",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": 1}, "b": 2}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 1, "b": 2}}\n</tool_call>',
)
POSITIONAL_ARGUMENT = Rule(
    "J127",
    "positional-argument",
    Severity.ERROR,
    "An argument of a call in Python's syntax has no name.",
    "Tools take their arguments by name. Readers differ: some drop an argument without one, some map it by the order "
    "of the tool's parameters, most refuse the call.",
    "Only the tool's author knows that order for certain, so there is no repair. Show calls with named arguments in "
    "the prompt.",
    bad="[get_weather('Oslo')]",
    good="[get_weather(city='Oslo')]",
    format="pythonic",
)
MALFORMED_PARAMETERS = Rule(
    "J128",
    "malformed-parameters",
    Severity.ERROR,
    "The tags around a call's parameters are not well formed.",
    "Dialects that write parameters in tags (`<parameter=city>`, `<invoke name=...>`, `<arg_key>`) have no quotes and "
    "no escapes: the tags alone say where a value begins and ends. A tag that is missing, cut or misspelt makes "
    "servers lose the parameter, eat the next one, or drop the call.",
    "weaklink reads what is certain and marks the tag; take its repair where it offers one. Arguments that hold such "
    "tags themselves (XML, templates) are the usual content.",
    bad="<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n<parameter=days>\n2\n</parameter>\n"
    "</function>\n</tool_call>",
    good="<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n2\n"
    "</parameter>\n</function>\n</tool_call>",
    format="qwen3_coder",
)
TRUNCATED_PARAMETERS = Rule(
    "J129",
    "truncated-parameters",
    Severity.ERROR,
    "The stream ends in the middle of a call's parameters.",
    "The stream was cut (length limit, aborted request, stop word) before the tags of the call were closed. What was "
    "written so far is read; the last value may be half of what was meant.",
    "Look at the finish reason: with `length`, raise the limit or let the tool take smaller pieces. Closing the tags "
    "is only a suggestion.",
    bad="<tool_call>\n<function=get_weather>\n<parameter=city>\nOs",
    good="<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
    format="qwen3_coder",
)
EMPTY_ARGUMENTS = Rule(
    "J130",
    "empty-arguments",
    Severity.WARNING,
    "The arguments of a call are an empty string.",
    "An empty string is no JSON. Servers send it for a call without arguments, and clients that decode it strictly "
    "fail there; weaklink reads it as an empty object.",
    "Let the client take an empty string for `{}`, as the official ones do, and write `{}` where you make such "
    "messages yourself.",
    bad='{"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function", "function": '
    '{"name": "get_time", "arguments": ""}}]}',
    good='{"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function", "function": '
    '{"name": "get_time", "arguments": "{}"}}]}',
    format="openai",
)
ARGUMENTS_AS_OBJECT = Rule(
    "J131",
    "arguments-as-object",
    Severity.ERROR,
    "`arguments` is an object where the OpenAI API has a string.",
    "The OpenAI API holds the arguments as a string of JSON, Ollama's own API as an object. A client made for the one "
    "fails on the other: it decodes what is decoded already. weaklink reads the object.",
    "Encode the arguments where this message is made, or read it with a client for the API that sent it.",
    bad='{"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function", "function": '
    '{"name": "get_time", "arguments": {"zone": "CET"}}}]}',
    good='{"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function", "function": '
    '{"name": "get_time", "arguments": "{\\"zone\\": \\"CET\\"}"}}]}',
    format="openai",
)

RULES = (
    SEVERAL_OBJECTS_IN_ONE_CALL,
    ARGUMENTS_AS_STRING,
    WRONG_ARGUMENTS_KEY,
    NOT_A_CALL,
    STRAY_KEY,
    POSITIONAL_ARGUMENT,
    MALFORMED_PARAMETERS,
    TRUNCATED_PARAMETERS,
    EMPTY_ARGUMENTS,
    ARGUMENTS_AS_OBJECT,
)
