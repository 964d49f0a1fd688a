"""S2xx: arguments against the JSON Schema of the tool that was offered in that request."""

from inspector.rules.rule import Rule, Severity

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
    "The tool cannot run without it, or runs with a default that nobody chose. The object that lacks the property is "
    "marked; a property that is there under a similar name is the likeliest cause. Where a condition of the schema "
    "requires it (`if`, `dependentRequired`), another argument calls for it.",
    "Look whether the model could know the value at this point. If it could, name the parameter more plainly; if not, "
    "make it optional or let the agent ask for it.",
    bad=_call('{"days": 2}'),
    good=_call('{"city": "Oslo", "days": 2}'),
)
WRONG_TYPE = Rule(
    "S202",
    "wrong-type",
    Severity.ERROR,
    "An argument has another JSON type than the schema says.",
    'A number in quotes is a string: `"5"` is not `5`. Some servers convert it, most hand it to the tool as it is, '
    "and the tool fails or compares wrongly. JSON Schema takes `5.0` for an integer, and so does this rule.",
    "Where a conversion keeps the meaning, the hint names it; it is never made silently. Convert in one place of your "
    "own, or turn on the server's strict mode for this tool.",
    bad=_call('{"city": "Oslo", "days": "2"}'),
    good=_call('{"city": "Oslo", "days": 2}'),
)
UNEXPECTED_PROPERTY = Rule(
    "S203",
    "unexpected-property",
    Severity.ERROR,
    "An object holds a property that the schema does not allow.",
    "The schema forbids further properties (`additionalProperties`, `unevaluatedProperties`, or `false` for this "
    "name), so the tool refuses the call or never sees the value. The key is often a slip for one that exists, which "
    "is then named. Without such a word in the schema, further properties are allowed and nothing is reported.",
    "Rename the key if a near one is named. If models keep inventing the same one, the tool lacks something that they "
    "expect of it: add it, or say in its description that it is not there.",
    bad=_call('{"city": "Oslo", "dayz": 2}'),
    good=_call('{"city": "Oslo", "days": 2}'),
)
VALUE_NOT_IN_ENUM = Rule(
    "S204",
    "value-not-in-enum",
    Severity.ERROR,
    "A value is none of those that the schema allows.",
    "`enum` and `const` list every allowed value, and compare exactly: case, spaces and type count. A tool that gets "
    "another value fails, or falls back to its default without a word.",
    "Take the nearest allowed value where one is named. If the model's word is what people say, add it to the list.",
    bad=_call('{"city": "Oslo", "unit": "Celsius"}'),
    good=_call('{"city": "Oslo", "unit": "celsius"}'),
)
CONSTRAINT_VIOLATED = Rule(
    "S205",
    "constraint-violated",
    Severity.ERROR,
    "A value breaks a limit of the schema: a range, a length, a pattern, or a combination.",
    "The value has the right type but is too small, too long, of another pattern, repeated, or fits none (or too "
    "many) of the alternatives that the schema gives. The message names the limit and the value.",
    "Models see limits only if the server puts the whole schema into the prompt: say the limit in the parameter's "
    "description too. For alternatives, give each a property that tells them apart.",
    bad=_call('{"city": "Oslo", "days": 0}'),
    good=_call('{"city": "Oslo", "days": 1}'),
)
ARGUMENTS_NOT_AN_OBJECT = Rule(
    "S206",
    "arguments-not-an-object",
    Severity.ERROR,
    "The arguments are not an object, though the tool takes one.",
    "A tool's arguments are an object with one member a parameter. `null`, a bare value or a list does not say which "
    "parameter it is meant for, so the tool cannot be called.",
    "Show a call with named arguments in the prompt. Tools with a single parameter invite this: name it in the tool's "
    "description.",
    bad=_call("null"),
    good=_call('{"city": "Oslo"}'),
)
INVALID_TOOL_SCHEMA = Rule(
    "S207",
    "invalid-tool-schema",
    Severity.WARNING,
    "A tool's definition is not a usable schema.",
    "`parameters` should be a JSON Schema with `type: object` and `properties`. Training sets hold bare maps of "
    "parameters, Python's type names (`str`, `dict`), `required: true` on a property, and words of other drafts. "
    "Servers refuse such a tool or ignore the word, and then every argument passes; checking goes on with what can be "
    "meant, and leaves out the rest.",
    "Mend the definition where it is made; the message names the word and its place. Do this before you judge the "
    "model by its arguments.",
    bad=_offer('{"city": {"type": "string"}}'),
    good=_offer('{"type": "object", "properties": {"city": {"type": "string"}}}'),
)
UNRESOLVABLE_REFERENCE = Rule(
    "S208",
    "unresolvable-reference",
    Severity.WARNING,
    "A `$ref` of a tool's schema has no target, or one outside the schema.",
    "Nothing is ever fetched: a reference to a web address or a file stays unread, whoever wrote it. What it refers "
    "to was not checked, and the model did not see it either; everything else was checked.",
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
    "`format` (a date, an address, a UUID) is an annotation in JSON Schema: it does not make a call invalid. Tools "
    "nevertheless parse such a string, and fail then, or book the wrong day.",
    "Say the form with an example in the parameter's description (`2026-05-17`). If the tool takes other forms as "
    "well, take the `format` out.",
    bad=_call('{"city": "Oslo", "on": "tomorrow"}'),
    good=_call('{"city": "Oslo", "on": "2026-05-17"}'),
)
SCHEMA_NOT_CHECKED = Rule(
    "S210",
    "schema-not-checked",
    Severity.WARNING,
    "Something was not checked against the schema, since a bound was reached.",
    "Schemas and arguments come from outside and may be made to hang or crash a checker: patterns that backtrack "
    "without end, references that multiply, depth. Such checks are left out, and this says which. Not checked means "
    "neither valid nor invalid.",
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
