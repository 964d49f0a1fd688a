"""T4xx: calls and results across turns."""

from inspector.rules.rule import Rule, Severity

_WEATHER = '<|im_start|>system\n<tools>\n[{"name": "get_weather"}]\n</tools><|im_end|>\n<|im_start|>assistant\n'

UNKNOWN_TOOL = Rule(
    "T401",
    "unknown-tool",
    Severity.ERROR,
    "A call names a tool that was not offered.",
    "The model invented the tool, misspelled it, or remembers it from another conversation. Servers answer with an "
    "error or drop the call. The nearest name among the tools of that very request is given where there is one. Where "
    "no tools are known, nothing is said.",
    bad=_WEATHER + '<tool_call>\n{"name": "get_wether", "arguments": {}}\n</tool_call>',
    good=_WEATHER + '<tool_call>\n{"name": "get_weather", "arguments": {}}\n</tool_call>',
)
DUPLICATE_CALL_ID = Rule(
    "T402",
    "duplicate-call-id",
    Severity.WARNING,
    "A call bears the id of an earlier call that still waits for its result.",
    "A result under this id could answer either call. Some providers refuse such a history, others mix the results up. "
    "An id may come again once its call is answered: real logs do so.",
)
RESULT_WITHOUT_CALL = Rule(
    "T403",
    "result-without-call",
    Severity.WARNING,
    "A tool result answers no call that is open.",
    "Its call was lost by a parser, never made, or made under another id. The model reads a result whose question it "
    "cannot see.",
)
CALL_WITHOUT_RESULT = Rule(
    "T404",
    "call-without-result",
    Severity.WARNING,
    "The conversation went on, but this call never got a result.",
    "The client did not see the call (its parser missed it), or dropped the answer. The model goes on without what it "
    "asked for.",
)
RESULT_OUT_OF_ORDER = Rule(
    "T405",
    "result-out-of-order",
    Severity.INFO,
    "A result comes after the result of a call that was made later.",
    "With ids nothing is lost. Templates and clients that pair by order hand the model the wrong answer to each of "
    "its calls.",
)
ERROR_RESULT = Rule(
    "T406",
    "error-result",
    Severity.WARNING,
    "A tool answered with an error.",
    "A flag, an exit code, an error object or only the result's words say so; the step's certainty tells which. The "
    "chain broke here if no later call did the work. A test that should fail is an error result too; exit code 1 of a "
    "search or a comparison (`grep`, `diff`) is none, nor is an exception in a log that is only read.",
)
EMPTY_RESULT = Rule(
    "T407",
    "empty-result",
    Severity.WARNING,
    "A tool answered with nothing at all.",
    "The model cannot tell silence from success, and tends to fill the gap with a value of its own. Let the tool say "
    "what it did, or that it found nothing. Shell commands that are silent by nature (`mkdir`, `cd`) are not meant.",
)
REPEATED_CALL = Rule(
    "T408",
    "repeated-call",
    Severity.WARNING,
    "The same call is made again, although it failed or gave the same result before.",
    "The agent goes in circles: the most common shape of a broken chain. An error that does not say what to change "
    "invites it. Looking again after a call that may have changed something is no circle.",
)
MISSING_CALL_ID = Rule(
    "T409",
    "missing-call-id",
    Severity.WARNING,
    "A call of an API's message has no id.",
    "The result of a call names its id. Without one the client cannot answer the call, or pairs by order and mixes "
    "results up; the provider refuses a history with such a call. Servers that parse a model's text must make one up.",
)
MALFORMED_CALL_ID = Rule(
    "T410",
    "malformed-call-id",
    Severity.WARNING,
    "A call's id is not of the kind that its format takes.",
    "Mistral's ids are nine letters or digits, and its own request validation refuses a conversation that holds any "
    "other: the call runs, and the next request fails. Ids copied from another provider (`call_...`) are the usual "
    "cause.",
)
PLACEHOLDER_ARGUMENT = Rule(
    "T411",
    "placeholder-argument",
    Severity.WARNING,
    "An argument is a placeholder, and no value.",
    "The model planned several calls at once and wrote `<previous_result>`, `{{user_id}}` or `$results[0].id` where "
    "the value was still to come. Nothing fills it in: the tool gets the placeholder itself, and answers for something "
    "that does not exist. What the user or a tool wrote so is no placeholder.",
)
UNSUPPORTED_ARGUMENT = Rule(
    "T412",
    "unsupported-argument",
    Severity.WARNING,
    "An argument names something by an id that stood nowhere before.",
    "An order's number, an account or an address must come from the user, the system prompt or a tool's result; one "
    "that stands in none of them was invented, and the call reads or changes somebody else's. Only ids are looked at, "
    "only where the whole conversation is known, and not those of calls that make something new. Dates, numbers and "
    "words are the model's to choose.",
)
UNRECOVERED_ERROR = Rule(
    "T413",
    "unrecovered-error",
    Severity.ERROR,
    "A tool answered with an error, and the agent went on as if it had not.",
    "text",
)
NO_FINAL_ANSWER = Rule(
    "T414",
    "no-final-answer",
    Severity.WARNING,
    "The conversation ends with a tool's result, or with an empty turn: the agent never answered.",
    "text.",
)

RULES = (
    UNKNOWN_TOOL,
    DUPLICATE_CALL_ID,
    RESULT_WITHOUT_CALL,
    CALL_WITHOUT_RESULT,
    RESULT_OUT_OF_ORDER,
    ERROR_RESULT,
    EMPTY_RESULT,
    REPEATED_CALL,
    MISSING_CALL_ID,
    MALFORMED_CALL_ID,
    PLACEHOLDER_ARGUMENT,
    UNSUPPORTED_ARGUMENT,
    UNRECOVERED_ERROR,
    NO_FINAL_ANSWER,
)
