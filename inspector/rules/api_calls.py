"""J1xx, of calls that an API hands on as JSON: how their arguments stand in it."""

from inspector.rules.rule import Rule, Severity

EMPTY_ARGUMENTS = Rule(
    "J130",
    "empty-arguments",
    Severity.WARNING,
    "The arguments of a call are an empty string.",
    "An empty string is no JSON. Servers send it for a call without arguments, and clients that decode it strictly "
    "fail there; weaklink reads it as an empty object. `{}` is what belongs there.",
)
ARGUMENTS_AS_OBJECT = Rule(
    "J131",
    "arguments-as-object",
    Severity.ERROR,
    "`arguments` is an object where the OpenAI API has a string.",
    "The OpenAI API holds the arguments as a string of JSON, Ollama's own API as an object. A client made for the one "
    "fails on the other: it decodes what is decoded already. weaklink reads the object.",
)

RULES = (EMPTY_ARGUMENTS, ARGUMENTS_AS_OBJECT)
