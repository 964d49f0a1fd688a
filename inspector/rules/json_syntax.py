"""J1xx: the JSON of payloads, and whether it is a call at all."""

from inspector.rules.rule import Rule, Severity

MALFORMED_JSON = Rule(
    "J101",
    "malformed-json",
    Severity.ERROR,
    "A payload is not JSON, in a way that no other rule names.",
    "Servers parse a payload with a strict JSON reader and drop the whole call when it fails. This rule is the last "
    "resort: it marks characters that no JSON value can hold and that no more telling rule covers, a sign that stands "
    "for a colon or comma, and prose before the value. Where a payload is nothing but prose, it says so.",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": @}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": "@"}}\n</tool_call>',
)
TRUNCATED_JSON = Rule(
    "J102",
    "truncated-json",
    Severity.ERROR,
    "A payload ends in the middle of a value.",
    "The stream was cut (length limit, aborted request, stop word) or the model went on to something else before the "
    "value was complete. Where the call's name and the beginning of its arguments are there, closing what is open is a "
    "suggestion; where they are not, no repair is honest. A cut call is often the tail of a loop that repeats a call "
    "already written whole: then nothing was lost.",
    bad='<tool_call>\n{"name": "f", "arguments": {"city": "Os',
    good='<tool_call>\n{"name": "f", "arguments": {"city": "Oslo"}}\n</tool_call>',
)
SINGLE_QUOTED_JSON = Rule(
    "J103",
    "single-quoted-json",
    Severity.ERROR,
    "Strings are quoted as in Python, with apostrophes.",
    "JSON knows only double quotes. Models learn single quotes from prompts that show a Python dict (the Hermes 3 "
    "template does), and servers with a strict reader drop such a call. The first such string is marked once, with a "
    "count of all.",
    bad="<tool_call>\n{'name': 'f', 'arguments': {}}\n</tool_call>",
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
TRAILING_COMMA = Rule(
    "J104",
    "trailing-comma",
    Severity.ERROR,
    "A comma stands before a closing bracket.",
    "JSON allows a comma only between two members. Deleting it is always safe.",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": 1,}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
)
PYTHON_LITERAL = Rule(
    "J105",
    "python-literal",
    Severity.ERROR,
    "`True`, `False` or `None` stands where JSON has `true`, `false` or `null`.",
    "Models trained on Python write its literals. Each has exactly one JSON twin, so the repair is safe.",
    bad='<tool_call>\n{"name": "f", "arguments": {"deep": True}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"deep": true}}\n</tool_call>',
)
UNESCAPED_CONTROL_CHARACTER = Rule(
    "J106",
    "unescaped-control-character",
    Severity.ERROR,
    "A string holds a raw control character, most often a line feed.",
    "RFC 8259 wants U+0000 to U+001F escaped inside strings. Models that write code or letters into an argument forget "
    "it. Escaping the character keeps the meaning.",
    bad='<tool_call>\n{"name": "f", "arguments": {"text": "one\ntwo"}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"text": "one\\ntwo"}}\n</tool_call>',
)
INVALID_ESCAPE = Rule(
    "J107",
    "invalid-escape",
    Severity.ERROR,
    "A backslash in a string begins no JSON escape.",
    'JSON knows `\\"` `\\\\` `\\/` `\\b` `\\f` `\\n` `\\r` `\\t` and `\\uXXXX`. Regular expressions, Windows paths and '
    "LaTeX bring others; doubling the backslash keeps the text as it stands. Where the quotes of all strings bear a "
    "backslash, the whole payload was escaped once too often.",
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
    bad='<tool_call>\n{"name": "f", "arguments": {"a": 1, "a": 2}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 2}}\n</tool_call>',
)
TRAILING_DATA = Rule(
    "J109",
    "trailing-data",
    Severity.ERROR,
    "Something follows the complete value: a bracket too many, or prose.",
    "A strict reader stops at the first character behind the value (Python says `Extra data`). Cutting it off loses "
    "nothing of the call.",
    bad='<tool_call>\n{"name": "f", "arguments": {}}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
SEVERAL_OBJECTS_IN_ONE_CALL = Rule(
    "J110",
    "several-objects-in-one-call",
    Severity.ERROR,
    "One call tag holds several calls, one behind the other or as an array.",
    "The format has one object to a tag. Servers read the first, the last or none; weaklink reads every one. Each "
    "needs "
    "a tag of its own.",
    bad='<tool_call>\n{"name": "f", "arguments": {}}\n{"name": "g", "arguments": {}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\n'
    '<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>',
)
NON_FINITE_NUMBER = Rule(
    "J111",
    "non-finite-number",
    Severity.ERROR,
    "`NaN` or `Infinity` stands where JSON has no such number.",
    "Python's reader takes them, most others refuse. There is no JSON twin; `null` is the usual stand-in, which only "
    "the author of the tool can decide.",
    bad='<tool_call>\n{"name": "f", "arguments": {"limit": NaN}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"limit": null}}\n</tool_call>',
)
ARGUMENTS_AS_STRING = Rule(
    "J112",
    "arguments-as-string",
    Severity.ERROR,
    "`arguments` is a string that holds JSON, not an object.",
    "The OpenAI API sends arguments as a JSON string, and models copy that into formats where an object belongs. "
    "Servers "
    "then hand the tool a string. weaklink reads the object inside.",
    bad='<tool_call>\n{"name": "f", "arguments": "{\\"a\\": 1}"}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
)
WRONG_ARGUMENTS_KEY = Rule(
    "J113",
    "wrong-arguments-key",
    Severity.WARNING,
    "The arguments stand under another key than the format's.",
    "Llama 3 says `parameters`, Hermes says `arguments`, and models mix them up. weaklink reads either; a strict "
    "server "
    "calls the tool with no arguments at all.",
    bad='<tool_call>\n{"name": "f", "parameters": {"a": 1}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
)
FENCED_PAYLOAD = Rule(
    "J114",
    "fenced-payload",
    Severity.ERROR,
    "The payload stands in a Markdown code fence.",
    "The fence is no JSON, so a strict reader refuses the call. Removing the fence is safe.",
    bad='<tool_call>\n```json\n{"name": "f", "arguments": {}}\n```\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
EXPRESSION_AS_VALUE = Rule(
    "J115",
    "expression-as-value",
    Severity.ERROR,
    "A value is an expression, a call or a placeholder that would first have to be computed.",
    "`6*12+2`, `sqrt(2)` or `2 * <speed>` is a program, not a value: the model left the work to somebody else. The "
    "result "
    "of plain arithmetic is a suggestion; quoting anything else is one too, and never safe. A tuple `(1, 2)` is one as "
    "well: JSON has only arrays.",
    bad='<tool_call>\n{"name": "f", "arguments": {"n": 6*12}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"n": 72}}\n</tool_call>',
)
NOT_A_CALL = Rule(
    "J116",
    "not-a-call",
    Severity.ERROR,
    "The payload is readable, but it is no call.",
    "Valid JSON is not yet a call: models echo a tool's schema, write the bare arguments, or an error object. "
    "Without a "
    "tool's name nothing can be executed, and inventing one would be a lie.",
    bad='<tool_call>\n{"city": "Oslo"}\n</tool_call>',
    good='<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
)
TOO_DEEP = Rule(
    "J117",
    "too-deep",
    Severity.ERROR,
    "A payload is nested deeper than 512 levels.",
    "RFC 8259 lets readers bound the depth, and all do; validators crash on deep values. Nothing real nests so deeply, "
    "so the value is kept as text and not looked into.",
)
MISSING_COMMA = Rule(
    "J118",
    "missing-comma",
    Severity.ERROR,
    "Two members or elements stand side by side without a comma.",
    "The place marked runs from where the comma belongs to the beginning of the next value. Inserting it is safe.",
    bad='<tool_call>\n{"name": "f" "arguments": {}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
UNQUOTED_WORD = Rule(
    "J119",
    "unquoted-word",
    Severity.ERROR,
    "A key or a value is a bare word.",
    "JavaScript allows bare keys, JSON does not. Quoting a key keeps its only meaning; quoting a value is a "
    "suggestion, "
    "since the word may stand for something else.",
    bad='<tool_call>\n{name: "f", "arguments": {}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
UNBALANCED_BRACKET = Rule(
    "J120",
    "unbalanced-bracket",
    Severity.ERROR,
    "A bracket is missing or of the wrong kind.",
    "A call's root holds a name and arguments and nothing else, so the place of most missing braces is certain: before "
    '`, "name"`, not at the payload\'s end where a parser is surprised.',
    bad='<tool_call>\n{"arguments": {"a": 1, "name": "f"}\n</tool_call>',
    good='<tool_call>\n{"arguments": {"a": 1}, "name": "f"}\n</tool_call>',
)
MISSING_QUOTE = Rule(
    "J121",
    "missing-quote",
    Severity.ERROR,
    "A string lacks its opening or closing quote, or holds a quote that is not escaped.",
    "One quote too few or too many shifts everything behind it, so a parser complains far from the culprit. The place "
    "marked is where the quote belongs, or the stray one.",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": "one, "b": 2}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": "one", "b": 2}}\n</tool_call>',
)
COMMENT_IN_JSON = Rule(
    "J122",
    "comment-in-json",
    Severity.ERROR,
    "A payload holds a comment.",
    "JSON has no comments; JSON5 and JavaScript have. Deleting one is safe.",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": 1 // one\n}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 1 \n}}\n</tool_call>',
)
SMART_QUOTE = Rule(
    "J123",
    "smart-quote",
    Severity.ERROR,
    "Typographic quotes stand where JSON has plain ones.",
    "Text models set quotes as typesetters do. Replacing them by plain double quotes is safe where they delimit a "
    "string.",
    bad="<tool_call>\n{“name”: “f”, “arguments”: {}}\n</tool_call>",
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
INVALID_NUMBER = Rule(
    "J124",
    "invalid-number",
    Severity.ERROR,
    "A number is not written as JSON writes numbers.",
    "No leading zero, no plus sign, no bare dot, no digit separators, no other base than ten. Where the number is "
    "plain, "
    "its JSON spelling is the repair.",
    bad='<tool_call>\n{"name": "f", "arguments": {"n": .5}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"n": 0.5}}\n</tool_call>',
)
STRAY_KEY = Rule(
    "J125",
    "stray-key",
    Severity.WARNING,
    "A key stands beside the call's name and arguments.",
    "Servers ignore such a key, so an argument that slipped out of `arguments` is lost without a word. Moving it in "
    "is a "
    "suggestion.",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": 1}, "b": 2}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 1, "b": 2}}\n</tool_call>',
)
MISSING_VALUE = Rule(
    "J126",
    "missing-value",
    Severity.ERROR,
    "A key has no value, or a comma or colon stands where a value belongs.",
    "The model skipped a value. Nobody but the model knows which, so there is no repair, save where two commas stand "
    "side by side and one is simply too many.",
    bad='<tool_call>\n{"name": "f", "arguments": {"a": }}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
)
POSITIONAL_ARGUMENT = Rule(
    "J127",
    "positional-argument",
    Severity.ERROR,
    "An argument of a call in Python's syntax has no name.",
    "Tools take their arguments by name. Readers differ: some drop an argument without one, some map it by the order "
    "of the tool's parameters, most refuse the call. Only the tool's author knows that order for certain, so there is "
    "no repair.",
)
MALFORMED_PARAMETERS = Rule(
    "J128",
    "malformed-parameters",
    Severity.ERROR,
    "The tags around a call's parameters are not well formed.",
    "Dialects that write parameters in tags (`<parameter=city>`, `<invoke name=...>`, `<arg_key>`) have no quotes "
    "and no escapes: the tags alone say where a value begins and ends. A tag that is missing, cut or misspelt makes "
    "servers lose the parameter, eat the next one, or drop the call. weaklink reads what is certain and marks the tag.",
)
TRUNCATED_PARAMETERS = Rule(
    "J129",
    "truncated-parameters",
    Severity.ERROR,
    "The stream ends in the middle of a call's parameters.",
    "The stream was cut (length limit, aborted request, stop word) before the tags of the call were closed. What was "
    "written so far is read; the last value may be half of what was meant, so closing it is only a suggestion.",
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
    SEVERAL_OBJECTS_IN_ONE_CALL,
    NON_FINITE_NUMBER,
    ARGUMENTS_AS_STRING,
    WRONG_ARGUMENTS_KEY,
    FENCED_PAYLOAD,
    EXPRESSION_AS_VALUE,
    NOT_A_CALL,
    TOO_DEEP,
    MISSING_COMMA,
    UNQUOTED_WORD,
    UNBALANCED_BRACKET,
    MISSING_QUOTE,
    COMMENT_IN_JSON,
    SMART_QUOTE,
    INVALID_NUMBER,
    STRAY_KEY,
    MISSING_VALUE,
    POSITIONAL_ARGUMENT,
    MALFORMED_PARAMETERS,
    TRUNCATED_PARAMETERS,
)
