"""J1xx: the JSON syntax of payloads, and whether a payload is a call."""

from inspector.rules.rule import Rule, Severity

MALFORMED_JSON = Rule(
    "J101",
    "malformed-json",
    Severity.ERROR,
    "A payload is not JSON, in a way that no other rule names.",
    "Servers parse a payload with a strict JSON reader and drop the whole call when it fails: the agent waits for a "
    "result that never comes, or the user sees the raw payload. This rule is the last resort: it marks characters "
    "that no JSON value can hold and that no more specific rule covers, a sign in place of a colon or comma, and "
    "prose before the value. Where a payload is nothing but prose, it says so.",
    "Read what the model wanted to say at the mark. Prose in a call means that the prompt does not show a call in the "
    "model's own format; a stray sign now and then calls for constrained decoding (a JSON grammar or schema on the "
    "server).",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": @}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": "@"}}\n</tool_call>',
)

TRUNCATED_JSON = Rule(
    "J102",
    "truncated-json",
    Severity.ERROR,
    "A payload ends in the middle of a value.",
    "The stream was cut (length limit, aborted request, stop word) or the model went on to something else before the "
    "value was complete. The server finds no call, or hands the client half of one. A cut call is often the tail of a "
    "loop that repeats a call already written whole: then nothing was lost, and the message says so.",
    "Look at the finish reason first: with `length`, raise the limit or shorten the argument; without one, look for a "
    "stop word that occurs in the payload. Where the name and the beginning of the arguments are there, closing what "
    "is open is offered as a suggestion; where they are not, no repair is honest.",
    bad='<tool_call>\n{"name": "f", "arguments": {"city": "Os',
    good='<tool_call>\n{"name": "f", "arguments": {"city": "Oslo"}}\n</tool_call>',
)

SINGLE_QUOTED_JSON = Rule(
    "J103",
    "single-quoted-json",
    Severity.ERROR,
    "Strings are quoted as in Python, with apostrophes.",
    "JSON knows only double quotes, and servers with a strict reader drop such a call. Models learn single quotes "
    "from prompts that show a Python dict (the Hermes 3 template does). The first such string is marked once, with a "
    "count of all.",
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
    "Models write it after JavaScript and Python, above all in long lists.",
    "Deleting it is always safe. If it comes often, let the server decode with a JSON grammar.",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": 1,}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
)

PYTHON_LITERAL = Rule(
    "J105",
    "python-literal",
    Severity.ERROR,
    "`True`, `False` or `None` is used where JSON has `true`, `false` or `null`.",
    "Models trained on Python write its literals, and a strict reader drops the call. Each has exactly one JSON twin.",
    "Replacing it by its twin is safe. Look whether the prompt shows examples or tool results as Python dicts.",
    bad='<tool_call>\n{"name": "f", "arguments": {"deep": True}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"deep": true}}\n</tool_call>',
)

UNESCAPED_CONTROL_CHARACTER = Rule(
    "J106",
    "unescaped-control-character",
    Severity.ERROR,
    "A string holds a raw control character, most often a line feed.",
    "RFC 8259 demands escapes for U+0000 to U+001F in strings. Models that write code, letters or diffs into an "
    "argument forget it, and exactly those calls, the long ones, are dropped by a strict reader.",
    "Escaping the character keeps the meaning and is safe. A reader that takes raw line feeds (`strict=False` in "
    "Python) is a remedy on the server's side.",
    bad='<tool_call>\n{"name": "f", "arguments": {"text": "one\ntwo"}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"text": "one\\ntwo"}}\n</tool_call>',
)

INVALID_ESCAPE = Rule(
    "J107",
    "invalid-escape",
    Severity.ERROR,
    "A backslash in a string begins no JSON escape.",
    'JSON knows `\\"` `\\\\` `\\/` `\\b` `\\f` `\\n` `\\r` `\\t` and `\\uXXXX`. Regular expressions, Windows paths '
    "and LaTeX bring others, and a strict reader drops the call. Where the quotes of all strings have a backslash, "
    "the whole payload was escaped once too often.",
    "Doubling the backslash keeps the text as it is. Where everything is escaped once too often, look for a "
    "prompt or a history in which calls are JSON inside a JSON string.",
    bad='<tool_call>\n{"name": "f", "arguments": {"pattern": "\\d+"}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"pattern": "\\\\d+"}}\n</tool_call>',
)

DUPLICATE_KEY = Rule(
    "J108",
    "duplicate-key",
    Severity.WARNING,
    "An object holds the same key twice.",
    "Readers differ: most keep the last value, some the first, some refuse. The call stays valid, but what the tool "
    "receives depends on the server.",
    "Look which value the model meant; often it corrected itself. No repair is offered, since only the model knows.",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": 1, "a": 2}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 2}}\n</tool_call>',
)

TRAILING_DATA = Rule(
    "J109",
    "trailing-data",
    Severity.ERROR,
    "Something follows the complete value: a bracket too many, or prose.",
    "A strict reader stops at the first character after the value (Python says `Extra data`) and drops the call, "
    "although every argument is there.",
    "Cutting it off loses nothing of the call. Prose there means that the model does not know the end marker of its "
    "format; a bracket too many is a slip.",
    bad='<tool_call>\n{"name": "f", "arguments": {}}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)

NON_FINITE_NUMBER = Rule(
    "J111",
    "non-finite-number",
    Severity.ERROR,
    "`NaN` or `Infinity` is used, which JSON does not have.",
    "Python's reader takes them, most others refuse and drop the call. There is no JSON twin.",
    "`null` is the usual stand-in, but only the author of the tool can decide that. Say in the tool's description "
    "which value means no limit.",
    bad='<tool_call>\n{"name": "f", "arguments": {"limit": NaN}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"limit": null}}\n</tool_call>',
)

FENCED_PAYLOAD = Rule(
    "J114",
    "fenced-payload",
    Severity.ERROR,
    "The payload is in a Markdown code fence.",
    "The model writes Markdown, where the server expects the bare value: the call is dropped, or shown to the user as "
    "a code block.",
    "Deleting the fence is safe. Take code fences out of the examples in the prompt.",
    bad='<tool_call>\n```json\n{"name": "f", "arguments": {}}\n```\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)

EXPRESSION_AS_VALUE = Rule(
    "J115",
    "expression-as-value",
    Severity.ERROR,
    "A value is an expression, a call or a placeholder that would first have to be computed.",
    "`6*12+2`, `sqrt(2)` or `2 * <speed>` is a program, not a value: the model left the work to somebody else, and a "
    "strict reader drops the call. A tuple `(1, 2)` is one as well: JSON has only arrays.",
    "The result of plain arithmetic is a suggestion; quoting anything else is one too, and never safe. Give the model "
    "a tool for computing, or make it call the tool whose result it needs first.",
    bad='<tool_call>\n{"name": "f", "arguments": {"n": 6*12}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"n": 72}}\n</tool_call>',
)

TOO_DEEP = Rule(
    "J117",
    "too-deep",
    Severity.ERROR,
    "A payload is nested deeper than 512 levels.",
    "RFC 8259 lets readers bound the depth, and all do; validators crash on deep values. Nothing real nests so "
    "deeply, so the value is kept as text and not looked into.",
    "Take it for a loop of the model (brackets that repeat) or for an attack on your parser; do not raise the bound.",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": ' + "[" * 513 + "]" * 513 + "}}\n</tool_call>",
    good='<tool_call>\n{"name": "f", "arguments": {"a": [[1]]}}\n</tool_call>',
)

MISSING_COMMA = Rule(
    "J118",
    "missing-comma",
    Severity.ERROR,
    "Two members or elements follow each other without a comma.",
    "A strict reader stops here and drops the call. The place marked runs from where the comma belongs to the "
    "beginning of the next value.",
    "Inserting it is safe. If it comes often, let the server decode with a JSON grammar.",
    bad='<tool_call>\n{"name": "f" "arguments": {}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)

UNQUOTED_WORD = Rule(
    "J119",
    "unquoted-word",
    Severity.ERROR,
    "A key or a value is a bare word.",
    "JavaScript allows bare keys, JSON does not, so a strict reader drops the call. A bare value is more doubtful: "
    "the word may be a name, a constant or a variable that the model thinks it has.",
    "Quoting a key keeps its only meaning; quoting a value is a suggestion. A word such as `user_id` for a value is "
    "mostly an argument that the model did not know: it should have asked.",
    bad='<tool_call>\n{name: "f", "arguments": {}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)

UNBALANCED_BRACKET = Rule(
    "J120",
    "unbalanced-bracket",
    Severity.ERROR,
    "A bracket is missing or of the wrong kind.",
    "A call's root holds a name and arguments and nothing else, so the place of most missing braces is certain: "
    'before `, "name"`, not at the payload\'s end where a parser is surprised. Until it is there, a strict reader '
    "drops the call.",
    "Take the repair where one is offered. Deeply nested arguments invite this: a flat schema has fewer brackets to "
    "lose.",
    bad='<tool_call>\n{"arguments": {"a": 1, "name": "f"}\n</tool_call>',
    good='<tool_call>\n{"arguments": {"a": 1}, "name": "f"}\n</tool_call>',
)

MISSING_QUOTE = Rule(
    "J121",
    "missing-quote",
    Severity.ERROR,
    "A string lacks its opening or closing quote, or holds a quote that is not escaped.",
    "One quote too few or too many shifts everything after it, so a parser complains far from the culprit and drops "
    "the call. The place marked is where the quote belongs, or the stray one. Text that quotes (code, dialogue, HTML) "
    "is the usual content.",
    "Read the argument around the mark. If the tool takes code or prose, let the server decode with a JSON grammar, "
    "or use a format whose arguments need no escapes.",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": "one, "b": 2}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": "one", "b": 2}}\n</tool_call>',
)

COMMENT_IN_JSON = Rule(
    "J122",
    "comment-in-json",
    Severity.ERROR,
    "A payload holds a comment.",
    "JSON has no comments; JSON5 and JavaScript have. A strict reader drops the call for a remark that nobody reads.",
    "Deleting it is safe. Give the model a place to think before the call, and it comments less within.",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": 1 // one\n}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 1 \n}}\n</tool_call>',
)

SMART_QUOTE = Rule(
    "J123",
    "smart-quote",
    Severity.ERROR,
    "Typographic quotes are used where JSON has plain ones.",
    "Text models set quotes as typesetters do, above all when the conversation holds typographic text. A strict "
    "reader sees no string at all and drops the call.",
    "Replacing them by plain double quotes is safe where they delimit a string. Look for a prompt that went through a "
    "word processor.",
    bad="<tool_call>\n{“name”: “f”, “arguments”: {}}\n</tool_call>",
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)

INVALID_NUMBER = Rule(
    "J124",
    "invalid-number",
    Severity.ERROR,
    "A number is not written as JSON writes numbers.",
    "No leading zero, no plus sign, no bare dot, no digit separators, no other base than ten: a strict reader drops "
    "the call for any of them.",
    "Where the number is plain, its JSON spelling is the repair. A number with a meaning of its own (a postcode, an "
    "account) should be a string in the tool's schema.",
    bad='<tool_call>\n{"name": "f", "arguments": {"n": .5}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"n": 0.5}}\n</tool_call>',
)

MISSING_VALUE = Rule(
    "J126",
    "missing-value",
    Severity.ERROR,
    "A key has no value, or a comma or colon is where a value belongs.",
    "The model skipped a value, and a strict reader drops the call. Nobody but the model knows which value, so there "
    "is no repair, save where two commas follow each other and one is simply too many.",
    "Look whether the value was to be had at all: a model that lacks an argument and must not ask leaves it empty. "
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
    "One call tag holds several calls, one after the other or as an array.",
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
    "The arguments are under another key than the format's.",
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
    "The call has a key besides its name and arguments.",
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
