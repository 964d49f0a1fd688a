"""S2xx: arguments against the JSON Schema of the tool that was offered in that request."""

from weaklink.inspector.rules.rule import Rule, Severity

_TOOLS = (
    '<|im_start|>system\n<tools>\n[{"name": "f", "parameters": {"type": "object", "properties": {'
    '"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}, '
    '"unit": {"enum": ["celsius", "fahrenheit"]}, "on": {"type": "string", "format": "date"}}, '
    '"required": ["city"], "additionalProperties": false}}]\n</tools><|im_end|>\n<|im_start|>assistant\n'
)


def _call(arguments: str) -> str:
    return f'{_TOOLS}<tool_call>\n{{"name": "f", "arguments": {arguments}}}\n</tool_call>'


def _offer(parameters: str) -> str:
    return f'<|im_start|>system\n<tools>\n[{{"name": "f", "parameters": {parameters}}}]\n</tools><|im_end|>\n'


MISSING_REQUIRED = Rule(
    "S201",
    "missing-required",
    Severity.ERROR,
    "An object lacks a property that the tool's schema requires.",
    "The tool cannot run without it, or runs with an unintended default. The rule marks the object that lacks the "
    "property; the most likely cause is a property with a similar name. If a condition of the schema requires it "
    "(`if`, `dependentRequired`), another argument makes it necessary.",
    "Check whether the model could know the value at this point. If it could, give the parameter a clearer name; if "
    "not, make it optional or let the agent ask for it.",
    bad=_call('{"days": 2}'),
    good=_call('{"city": "Oslo", "days": 2}'),
)
WRONG_TYPE = Rule(
    "S202",
    "wrong-type",
    Severity.ERROR,
    "An argument has a different JSON type than the schema requires.",
    'A number in quotes is a string: `"5"` is not `5`. Some servers convert it, most pass it to the tool unchanged, '
    "and the tool fails or compares incorrectly. JSON Schema accepts `5.0` as an integer, and so does this rule.",
    "If a conversion keeps the meaning, the hint names it; weaklink never converts silently. Convert in one place in "
    "your code, or turn on the server's strict mode for this tool.",
    bad=_call('{"city": "Oslo", "days": "2"}'),
    good=_call('{"city": "Oslo", "days": 2}'),
)
UNEXPECTED_PROPERTY = Rule(
    "S203",
    "unexpected-property",
    Severity.ERROR,
    "An object contains a property that the schema does not allow.",
    "The schema forbids further properties (`additionalProperties`, `unevaluatedProperties`, or `false` for this "
    "name), so the tool refuses the call or never sees the value. The key is often a misspelling of an existing one, "
    "which the message then suggests. Without such a keyword in the schema, further properties are allowed and "
    "nothing is reported.",
    "Rename the key if the message suggests one. If models keep inventing the same key, the tool lacks something that "
    "they expect: add it, or state in the description that it does not exist.",
    bad=_call('{"city": "Oslo", "dayz": 2}'),
    good=_call('{"city": "Oslo", "days": 2}'),
)
VALUE_NOT_IN_ENUM = Rule(
    "S204",
    "value-not-in-enum",
    Severity.ERROR,
    "A value is not one of those that the schema allows.",
    "`enum` and `const` list every allowed value, and compare exactly, including case, spaces and type. A tool that "
    "gets another value fails, or silently falls back to its default.",
    "Use the closest allowed value if the message suggests one. If the model's word is in common use, add it to the "
    "list.",
    bad=_call('{"city": "Oslo", "unit": "Celsius"}'),
    good=_call('{"city": "Oslo", "unit": "celsius"}'),
)
CONSTRAINT_VIOLATED = Rule(
    "S205",
    "constraint-violated",
    Severity.ERROR,
    "A value violates a constraint of the schema: a range, a length, a pattern, or a combination.",
    "The value has the right type but is too small, too long, does not match a pattern, is repeated, or matches none "
    "(or too many) of the alternatives in the schema. The message names the limit and the value.",
    "Models see limits only if the server puts the whole schema into the prompt: state the limit in the parameter's "
    "description too. Give each alternative a property that distinguishes it.",
    bad=_call('{"city": "Oslo", "days": 0}'),
    good=_call('{"city": "Oslo", "days": 1}'),
)
ARGUMENTS_NOT_AN_OBJECT = Rule(
    "S206",
    "arguments-not-an-object",
    Severity.ERROR,
    "The arguments are not an object, but the tool requires one.",
    "A tool's arguments are an object with one member per parameter. `null`, a bare value or a list does not name a "
    "parameter, so the server cannot call the tool.",
    "Show a call with named arguments in the prompt. This is most likely for tools with a single parameter: name it "
    "in the tool's description.",
    bad=_call("null"),
    good=_call('{"city": "Oslo"}'),
)
INVALID_TOOL_SCHEMA = Rule(
    "S207",
    "invalid-tool-schema",
    Severity.WARNING,
    "A tool's definition is not a usable schema.",
    "`parameters` should be a JSON Schema with `type: object` and `properties`. Training sets contain bare maps of "
    "parameters, Python's type names (`str`, `dict`), `required: true` on a property, and keywords of other drafts. "
    "Servers reject such a tool or ignore the keyword, and then every argument passes; weaklink checks with the "
    "likely meaning and ignores the rest.",
    "Fix the definition in the code that creates it; the message names the keyword and its position. Do this before "
    "you judge the model by its arguments.",
    bad=_offer('{"city": {"type": "string"}}'),
    good=_offer('{"type": "object", "properties": {"city": {"type": "string"}}}'),
)
UNRESOLVABLE_REFERENCE = Rule(
    "S208",
    "unresolvable-reference",
    Severity.WARNING,
    "A `$ref` in a tool's schema has no target, or a target outside the schema.",
    "weaklink never fetches anything: it does not follow a reference to a web address or a file. The target was not "
    "checked, and the model did not see it either; everything else was checked.",
    "Put the schema into `$defs` and refer to it there.",
    bad=_offer('{"type": "object", "properties": {"city": {"$ref": "https://example.com/city.json"}}}'),
    good=_offer(
        '{"type": "object", "properties": {"city": {"$ref": "#/$defs/city"}}, "$defs": {"city": {"type": "string"}}}'
    ),
)
FORMAT_MISMATCH = Rule(
    "S209",
    "format-mismatch",
    Severity.WARNING,
    "A string does not have the format that the schema names.",
    "`format` (a date, an address, a UUID) is an annotation in JSON Schema: it does not make a call invalid. But "
    "tools parse such a string, and then fail or book the wrong day.",
    "Show the format with an example in the parameter's description (`2026-05-17`). If the tool accepts other formats "
    "as well, remove the `format`.",
    bad=_call('{"city": "Oslo", "on": "tomorrow"}'),
    good=_call('{"city": "Oslo", "on": "2026-05-17"}'),
)
SCHEMA_NOT_CHECKED = Rule(
    "S210",
    "schema-not-checked",
    Severity.WARNING,
    "Something was not checked against the schema, because a limit was reached.",
    "Schemas and arguments are untrusted input and can make a checker hang or crash: patterns with excessive "
    "backtracking, references that multiply, deep nesting. weaklink skips such checks and reports which. Not checked "
    "means neither valid nor invalid.",
    "Simplify the schema at that place: a pattern without nested repetition, references that are not doubled at every "
    "level.",
    bad="<|im_start|>system\n<tools>\n"
    '[{"name": "f", "parameters": {"type": "object", "properties": {"a": {"pattern": "(x+x+)+y(?!z)"}}}}]\n'
    "</tools><|im_end|>\n<|im_start|>assistant\n<tool_call>\n"
    '{"name": "f", "arguments": {"a": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}}\n</tool_call>',
    good="<|im_start|>system\n<tools>\n"
    '[{"name": "f", "parameters": {"type": "object", "properties": {"a": {"pattern": "x+y"}}}}]\n'
    '</tools><|im_end|>\n<|im_start|>assistant\n<tool_call>\n{"name": "f", "arguments": {"a": "xxxxy"}}\n'
    "</tool_call>",
)

RULES = (
    MISSING_REQUIRED,
    WRONG_TYPE,
    UNEXPECTED_PROPERTY,
    VALUE_NOT_IN_ENUM,
    CONSTRAINT_VIOLATED,
    ARGUMENTS_NOT_AN_OBJECT,
    INVALID_TOOL_SCHEMA,
    UNRESOLVABLE_REFERENCE,
    FORMAT_MISMATCH,
    SCHEMA_NOT_CHECKED,
)
