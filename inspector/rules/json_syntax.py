"""J1xx: the JSON syntax of payloads, and whether a payload is a call."""

from weaklink.inspector.rules.rule import Rule, Severity

MALFORMED_JSON = Rule(
    "J101",
    "malformed-json",
    Severity.ERROR,
    "A payload is not valid JSON, in a way that no other rule covers.",
    "Servers parse a payload with a strict JSON reader and drop the whole call when it fails: the agent waits for a "
    "result that never comes, or the user sees the raw payload. This rule is the last resort: it marks characters "
    "that cannot be part of a JSON value and that no more specific rule covers, a wrong character in place of a colon "
    "or comma, and prose before the value. If a payload is only prose, the message states it.",
    "Read the text at the mark. Prose in a call means that the prompt does not show a call in the model's own format; "
    "for an occasional stray character, use constrained decoding (a JSON grammar or schema on the server).",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": @}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": "@"}}\n</tool_call>',
)

TRUNCATED_JSON = Rule(
    "J102",
    "truncated-json",
    Severity.ERROR,
    "A payload ends in the middle of a value.",
    "The stream was cut (length limit, aborted request, stop word) or the model continued with something else before "
    "the value was complete. The server finds no call, or passes the client an incomplete one. A truncated call is "
    "often the end of a loop that repeats an earlier complete call: then nothing was lost, and the message states it.",
    "Check the finish reason first: with `length`, raise the limit or shorten the argument; without one, look for a "
    "stop word that occurs in the payload. If the name and the beginning of the arguments are present, weaklink "
    "suggests closing what is open; otherwise no repair is safe.",
    bad='<tool_call>\n{"name": "f", "arguments": {"city": "Os',
    good='<tool_call>\n{"name": "f", "arguments": {"city": "Oslo"}}\n</tool_call>',
)

SINGLE_QUOTED_JSON = Rule(
    "J103",
    "single-quoted-json",
    Severity.ERROR,
    "Strings are quoted as in Python, with apostrophes.",
    "JSON allows only double quotes, and servers with a strict reader drop such a call. Models learn single quotes "
    "from prompts that show a Python dict (the Hermes 3 template does). The rule marks only the first such string and "
    "reports how many there are.",
    "Show calls and tool results as JSON in the prompt, never as Python's `repr`. Swapping the delimiters is a safe "
    "repair if it contains no apostrophe.",
    bad="<tool_call>\n{'name': 'f', 'arguments': {}}\n</tool_call>",
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)

TRAILING_COMMA = Rule(
    "J104",
    "trailing-comma",
    Severity.ERROR,
    "A comma precedes a closing bracket.",
    "JSON allows a comma only between two members, so a strict server drops the whole call for this one character. "
    "Models copy it from JavaScript and Python, especially in long lists.",
    "Deleting it is always safe. If it is frequent, let the server decode with a JSON grammar.",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": 1,}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
)

PYTHON_LITERAL = Rule(
    "J105",
    "python-literal",
    Severity.ERROR,
    "`True`, `False` or `None` is used where JSON has `true`, `false` or `null`.",
    "Models trained on Python write its literals, and a strict reader drops the call. Each has exactly one JSON "
    "equivalent.",
    "Replacing it with its equivalent is safe. Check whether the prompt shows examples or tool results as Python "
    "dicts.",
    bad='<tool_call>\n{"name": "f", "arguments": {"deep": True}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"deep": true}}\n</tool_call>',
)

UNESCAPED_CONTROL_CHARACTER = Rule(
    "J106",
    "unescaped-control-character",
    Severity.ERROR,
    "A string contains a raw control character, most often a line feed.",
    "RFC 8259 requires escapes for U+0000 to U+001F in strings. Models that write code, letters or diffs into an "
    "argument forget it, and a strict reader drops exactly those long calls.",
    "Escaping the character keeps the meaning and is safe. On the server's side, a reader that accepts raw line feeds "
    "(`strict=False` in Python) solves it.",
    bad='<tool_call>\n{"name": "f", "arguments": {"text": "one\ntwo"}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"text": "one\\ntwo"}}\n</tool_call>',
)

INVALID_ESCAPE = Rule(
    "J107",
    "invalid-escape",
    Severity.ERROR,
    "A backslash in a string does not begin a JSON escape.",
    'JSON has `\\"` `\\\\` `\\/` `\\b` `\\f` `\\n` `\\r` `\\t` and `\\uXXXX`. Regular expressions, Windows paths and '
    "LaTeX contain others, and a strict reader drops the call. If the quotes of all strings have a backslash, the "
    "whole payload was escaped once too often.",
    "Doubling the backslash keeps the text as it is. If everything is escaped once too often, look for a prompt or a "
    "history in which calls are JSON inside a JSON string.",
    bad='<tool_call>\n{"name": "f", "arguments": {"pattern": "\\d+"}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"pattern": "\\\\d+"}}\n</tool_call>',
)

DUPLICATE_KEY = Rule(
    "J108",
    "duplicate-key",
    Severity.WARNING,
    "An object contains the same key twice.",
    "Readers differ: most keep the last value, some the first, some reject the object. The call stays valid, but what "
    "the tool receives depends on the server.",
    "Check which value the model meant; often it corrected itself. There is no repair, since only the model knows.",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": 1, "a": 2}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 2}}\n</tool_call>',
)

TRAILING_DATA = Rule(
    "J109",
    "trailing-data",
    Severity.ERROR,
    "Something follows the complete value: an extra bracket, or prose.",
    "A strict reader stops at the first character after the value (Python reports `Extra data`) and drops the call, "
    "although every argument is there.",
    "Deleting it loses nothing of the call. Prose there means that the model does not know the end marker of its "
    "format; an extra bracket is a slip.",
    bad='<tool_call>\n{"name": "f", "arguments": {}}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)

NON_FINITE_NUMBER = Rule(
    "J111",
    "non-finite-number",
    Severity.ERROR,
    "`NaN` or `Infinity` is used, which JSON does not have.",
    "Python's reader accepts them, most others reject them and drop the call. There is no JSON equivalent.",
    "`null` is the usual replacement, but only the author of the tool can decide that. State in the tool's "
    "description which value means no limit.",
    bad='<tool_call>\n{"name": "f", "arguments": {"limit": NaN}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"limit": null}}\n</tool_call>',
)

FENCED_PAYLOAD = Rule(
    "J114",
    "fenced-payload",
    Severity.ERROR,
    "The payload is in a Markdown code fence.",
    "The model writes Markdown, but the server expects the bare value: it drops the call, or the user sees a code "
    "block.",
    "Deleting the fence is safe. Remove code fences from the examples in the prompt.",
    bad='<tool_call>\n```json\n{"name": "f", "arguments": {}}\n```\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)

EXPRESSION_AS_VALUE = Rule(
    "J115",
    "expression-as-value",
    Severity.ERROR,
    "A value is an expression, a call or a placeholder, which JSON readers do not evaluate.",
    "`6*12+2`, `sqrt(2)` or `2 * <speed>` is code, not a value, and a strict reader drops the call. A tuple `(1, 2)` "
    "is code as well: JSON has only arrays.",
    "For plain arithmetic, the suggested repair is the result; for anything else it is quoting, which is never safe. "
    "Give the model a tool for calculations, or make it first call the tool whose result it needs.",
    bad='<tool_call>\n{"name": "f", "arguments": {"n": 6*12}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"n": 72}}\n</tool_call>',
)

TOO_DEEP = Rule(
    "J117",
    "too-deep",
    Severity.ERROR,
    "A payload is nested deeper than 512 levels.",
    "RFC 8259 lets readers limit the depth, and all do; validators crash on deep values. Real values are never nested "
    "this deep, so weaklink keeps the value as text and does not parse it.",
    "Treat it as a loop of the model (repeated brackets) or as an attack on your parser; do not raise the limit.",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": ' + "[" * 513 + "]" * 513 + "}}\n</tool_call>",
    good='<tool_call>\n{"name": "f", "arguments": {"a": [[1]]}}\n</tool_call>',
)

MISSING_COMMA = Rule(
    "J118",
    "missing-comma",
    Severity.ERROR,
    "Two members or elements follow each other without a comma.",
    "A strict reader stops here and drops the call. The marked range extends from the position of the missing comma "
    "to the beginning of the next value.",
    "Inserting it is safe. If it is frequent, let the server decode with a JSON grammar.",
    bad='<tool_call>\n{"name": "f" "arguments": {}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)

UNQUOTED_WORD = Rule(
    "J119",
    "unquoted-word",
    Severity.ERROR,
    "A key or a value is a bare word.",
    "JavaScript allows bare keys, JSON does not, so a strict reader drops the call. A bare value is ambiguous: the "
    "word may be a name, a constant or a variable that the model assumes.",
    "Quoting a key keeps its only meaning; quoting a value is a suggestion. A word such as `user_id` as a value is "
    "usually an argument that the model did not know: it should have asked for it.",
    bad='<tool_call>\n{name: "f", "arguments": {}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)

UNBALANCED_BRACKET = Rule(
    "J120",
    "unbalanced-bracket",
    Severity.ERROR,
    "A bracket is missing or of the wrong kind.",
    "A call's root contains only a name and arguments, so the position of most missing braces is certain: before `, "
    '"name"`, not at the payload\'s end, where a parser reports the error. Without it, a strict reader drops the '
    "call.",
    "Apply the repair if there is one. Deeply nested arguments make this more likely: a flat schema has fewer "
    "brackets to lose.",
    bad='<tool_call>\n{"arguments": {"a": 1, "name": "f"}\n</tool_call>',
    good='<tool_call>\n{"arguments": {"a": 1}, "name": "f"}\n</tool_call>',
)

MISSING_QUOTE = Rule(
    "J121",
    "missing-quote",
    Severity.ERROR,
    "A string lacks its opening or closing quote, or contains a quote that is not escaped.",
    "A missing or extra quote shifts everything after it, so a parser reports an error far from the cause and drops "
    "the call. The mark is at the position of the missing quote, or at the extra one. The string usually contains "
    "text with quotes (code, dialogue, HTML).",
    "Read the argument around the mark. If the tool takes code or prose, let the server decode with a JSON grammar, "
    "or use a format whose arguments need no escapes.",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": "one, "b": 2}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": "one", "b": 2}}\n</tool_call>',
)

COMMENT_IN_JSON = Rule(
    "J122",
    "comment-in-json",
    Severity.ERROR,
    "A payload contains a comment.",
    "JSON has no comments; JSON5 and JavaScript have. A strict reader drops the call because of it.",
    "Deleting it is safe. Let the model think before the call: then it writes fewer comments inside it.",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": 1 // one\n}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 1 \n}}\n</tool_call>',
)

SMART_QUOTE = Rule(
    "J123",
    "smart-quote",
    Severity.ERROR,
    "Typographic quotes are used instead of plain ones.",
    "Models write typographic quotes, especially when the conversation contains typographic text. A strict reader "
    "does not find a string and drops the call.",
    "Replacing them with plain double quotes is safe if they delimit a string. Look for a prompt that was edited in a "
    "word processor.",
    bad="<tool_call>\n{“name”: “f”, “arguments”: {}}\n</tool_call>",
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)

INVALID_NUMBER = Rule(
    "J124",
    "invalid-number",
    Severity.ERROR,
    "A number is not valid JSON.",
    "JSON allows no leading zero, no plus sign, no bare dot, no digit separators and only base ten: a strict reader "
    "drops the call for any of them.",
    "If the number is unambiguous, the repair is its JSON spelling. A code made of digits (a postcode, an account "
    "number) should be a string in the tool's schema.",
    bad='<tool_call>\n{"name": "f", "arguments": {"n": .5}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"n": 0.5}}\n</tool_call>',
)

MISSING_VALUE = Rule(
    "J126",
    "missing-value",
    Severity.ERROR,
    "A key has no value, or a comma or colon is where a value belongs.",
    "The model skipped a value, and a strict reader drops the call. Only the model knows which value, so there is no "
    "repair, except if two commas follow each other and one of them is simply extra.",
    "Check whether the model could know the value: a model that lacks an argument and may not ask leaves it empty. "
    "Make the parameter optional, or let the agent ask.",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": }}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
)

RULES = (
    MALFORMED_JSON,
    TRUNCATED_JSON,
    SINGLE_QUOTED_JSON,
    TRAILING_COMMA,
    PYTHON_LITERAL,
    UNESCAPED_CONTROL_CHARACTER,
    INVALID_ESCAPE,
    DUPLICATE_KEY,
    TRAILING_DATA,
    NON_FINITE_NUMBER,
    FENCED_PAYLOAD,
    EXPRESSION_AS_VALUE,
    TOO_DEEP,
    MISSING_COMMA,
    UNQUOTED_WORD,
    UNBALANCED_BRACKET,
    MISSING_QUOTE,
    COMMENT_IN_JSON,
    SMART_QUOTE,
    INVALID_NUMBER,
    MISSING_VALUE,
)

SEVERAL_OBJECTS_IN_ONE_CALL = Rule(
    "J110",
    "several-objects-in-one-call",
    Severity.ERROR,
    "One call tag contains several calls, in a row or as an array.",
    "The format has one object per tag. Servers read the first, the last or none, so an agent that requested three "
    "calls gets one, and cannot know which. weaklink reads all of them.",
    "Give each call a separate tag, as the repair does; show parallel calls like this in the prompt. If your tools "
    "must run one by one, state that in the prompt as well.",
    bad='<tool_call>\n{"name": "f", "arguments": {}}\n{"name": "g", "arguments": {}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\n'
    '<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>',
)

ARGUMENTS_AS_STRING = Rule(
    "J112",
    "arguments-as-string",
    Severity.ERROR,
    "`arguments` is a string of JSON, not an object.",
    "The OpenAI API sends arguments as a JSON string, and models copy that into formats where an object belongs. "
    "Servers then pass the tool a string, or reject the call. weaklink reads the object inside.",
    "Look for a history that was put into the prompt in the API's shape: the template should decode `arguments` "
    "before it writes them.",
    bad='<tool_call>\n{"name": "f", "arguments": "{\\"a\\": 1}"}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
)

WRONG_ARGUMENTS_KEY = Rule(
    "J113",
    "wrong-arguments-key",
    Severity.WARNING,
    "The arguments are under a key that the format does not use.",
    "Llama 3 uses `parameters`, Hermes uses `arguments`, and models mix them up. weaklink reads both; a strict server "
    "calls the tool without arguments, so the tool seems to be at fault.",
    "Renaming the key is safe. Check which key the examples in the prompt and the tool definitions use.",
    bad='<tool_call>\n{"name": "f", "parameters": {"a": 1}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
)

NOT_A_CALL = Rule(
    "J116",
    "not-a-call",
    Severity.ERROR,
    "The payload is valid JSON, but not a call.",
    "Models echo a tool's schema, write the bare arguments, put them beside the tool's name, or write an error object. "
    "Without a tool's name a server cannot execute anything, and weaklink does not guess the name.",
    "Check what the object is: an echoed schema comes from a prompt that lists tools without showing a call; bare "
    "arguments come from training on a single tool; an error object comes from results shown in call tags.",
    bad='<tool_call>\n{"city": "Oslo"}\n</tool_call>',
    good='<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
)

STRAY_KEY = Rule(
    "J125",
    "stray-key",
    Severity.WARNING,
    "The call has a key besides its name and arguments.",
    "Servers ignore such a key, so an argument outside `arguments` is silently lost: the tool runs with a default "
    "instead.",
    "Compare with the tool's schema: move it into the arguments if the tool has a parameter of that name; otherwise "
    "the model made it up.",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": 1}, "b": 2}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 1, "b": 2}}\n</tool_call>',
)

POSITIONAL_ARGUMENT = Rule(
    "J127",
    "positional-argument",
    Severity.ERROR,
    "An argument of a call in Python's syntax has no name.",
    "Tools take arguments by name. Readers differ: some drop an argument without a name, some map it by the order of "
    "the tool's parameters, most reject the call.",
    "Only the tool's author knows that order, so there is no repair. Show calls with named arguments in the prompt.",
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
    "no escapes: only the tags mark where a value begins and ends. A tag that is missing, truncated or misspelt makes "
    "servers lose the parameter, swallow the next one, or drop the call.",
    "weaklink reads what is certain and marks the tag; apply its repair if there is one. The usual cause is arguments "
    "that contain such tags themselves (XML, templates).",
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
    "The stream was cut (length limit, aborted request, stop word) before the tags of the call were closed. weaklink "
    "reads the text up to the end; the last value may be incomplete.",
    "Check the finish reason: with `length`, raise the limit or let the tool accept smaller pieces. Closing the tags "
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
    "An empty string is not valid JSON. Servers send it for a call without arguments, and clients that decode it "
    "strictly fail there; weaklink reads it as an empty object.",
    "Let the client read an empty string as `{}`, as the official clients do, and write `{}` in messages that you "
    "create yourself.",
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
    "`arguments` is an object, but the OpenAI API uses a string.",
    "The OpenAI API sends the arguments as a string of JSON, Ollama's own API as an object. A client for one API "
    "fails on the other: it decodes what is already decoded. weaklink reads the object.",
    "Encode the arguments in the code that creates this message, or read it with a client for the API that sent it.",
    bad='{"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function", "function": '
    '{"name": "get_time", "arguments": {"zone": "CET"}}}]}',
    good='{"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function", "function": '
    '{"name": "get_time", "arguments": "{\\"zone\\": \\"CET\\"}"}}]}',
    format="openai",
)

CALL_SHAPE_RULES = (
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
