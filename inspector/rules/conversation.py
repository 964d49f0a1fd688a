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
    "no tools are known, nothing is reported.",
    "Offer the tool if it exists, under the name that the model expects. If the tools changed in mid-conversation, "
    "the history still shows the old ones: say so, or drop it.",
    bad=_WEATHER + '<tool_call>\n{"name": "get_wether", "arguments": {}}\n</tool_call>',
    good=_WEATHER + '<tool_call>\n{"name": "get_weather", "arguments": {}}\n</tool_call>',
)
DUPLICATE_CALL_ID = Rule(
    "T402",
    "duplicate-call-id",
    Severity.WARNING,
    "A call has the id of an earlier call that still waits for its result.",
    "A result under this id could answer either call. Some providers refuse such a history, others mix the results "
    "up, and the agent reads the answer to another question. An id may come again once its call is answered: real "
    "logs do so.",
    "Make ids unique where the server or the agent makes them up; a counter that starts again with every request is "
    "the usual cause.",
    bad='@user\nWeather in Oslo and Bergen?\n@assistant\n@call:0 name=get_weather id=call_1\n{"city": "Oslo"}\n'
    '@call:1 name=get_weather id=call_1\n{"city": "Bergen"}\n@tool id=call_1\n4 degrees\n@tool id=call_1\n'
    "7 degrees\n@assistant\n4 and 7 degrees.",
    good='@user\nWeather in Oslo and Bergen?\n@assistant\n@call:0 name=get_weather id=call_1\n{"city": "Oslo"}\n'
    '@call:1 name=get_weather id=call_2\n{"city": "Bergen"}\n@tool id=call_1\n4 degrees\n@tool id=call_2\n'
    "7 degrees\n@assistant\n4 and 7 degrees.",
)
RESULT_WITHOUT_CALL = Rule(
    "T403",
    "result-without-call",
    Severity.WARNING,
    "A tool result answers no call that is open.",
    "Its call was lost by a parser, never made, or made under another id. The model reads a result whose question it "
    "cannot see.",
    "Look in the turn before for a call that stayed in the text, or one whose id differs. If the history was "
    "shortened, cut calls and results together.",
    bad="@user\nWeather in Oslo?\n@assistant\nLet me look.\n@tool\n<tool_response>\n4 degrees\n</tool_response>\n"
    "@assistant\n4 degrees.",
    good='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\n4 degrees\n</tool_response>\n@assistant\n4 degrees.",
)
CALL_WITHOUT_RESULT = Rule(
    "T404",
    "call-without-result",
    Severity.WARNING,
    "The conversation went on, but this call never got a result.",
    "The client did not see the call (its parser missed it), or dropped the answer. The model goes on without what it "
    "asked for, and tends to make it up.",
    "Look at the call for faults that hide it from a server, then at the client's log for a tool that crashed or "
    "timed out: it should answer with an error instead of silence.",
    bad='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@user\nAre you there?\n@assistant\nIt is sunny.",
    good='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\n4 degrees\n</tool_response>\n@assistant\n4 degrees.",
)
RESULT_OUT_OF_ORDER = Rule(
    "T405",
    "result-out-of-order",
    Severity.INFO,
    "A result comes after the result of a call that was made later.",
    "With ids nothing is lost. Templates and clients that pair by order hand the model the wrong answer to each of "
    "its calls.",
    "If your template writes results without ids, put them into the order of the calls before you send them.",
    bad='@user\nWeather in Oslo and Bergen?\n@assistant\n@call:0 name=get_weather id=call_1\n{"city": "Oslo"}\n'
    '@call:1 name=get_weather id=call_2\n{"city": "Bergen"}\n@tool id=call_2\n7 degrees\n@tool id=call_1\n'
    "4 degrees\n@assistant\n4 and 7 degrees.",
    good='@user\nWeather in Oslo and Bergen?\n@assistant\n@call:0 name=get_weather id=call_1\n{"city": "Oslo"}\n'
    '@call:1 name=get_weather id=call_2\n{"city": "Bergen"}\n@tool id=call_1\n4 degrees\n@tool id=call_2\n'
    "7 degrees\n@assistant\n4 and 7 degrees.",
)
ERROR_RESULT = Rule(
    "T406",
    "error-result",
    Severity.WARNING,
    "A tool answered with an error.",
    "A flag, an exit code, an error object or only the result's words say so; the step's certainty says which. The "
    "chain broke here if no later call did the work. A test that should fail is an error result too; exit code 1 of a "
    "search or a comparison (`grep`, `diff`) is none, nor is an exception in a log that is only read.",
    "Read whether the error says what to change: agents recover from `unknown city, use ISO codes` and loop on `error "
    "500`. Then see in the chain who made it good.",
    bad='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\nError: no such city\n</tool_response>\n@assistant\n"
    "I could not find that city.",
    good='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\n4 degrees\n</tool_response>\n@assistant\n4 degrees.",
)
EMPTY_RESULT = Rule(
    "T407",
    "empty-result",
    Severity.WARNING,
    "A tool answered with nothing at all.",
    "The model cannot tell silence from success, and tends to fill the gap with a value of its own. Three kinds of "
    "silence are not reported: shell commands that print nothing (`mkdir`, `cd`), a tool that answers nothing in most "
    "of its calls in the same trace, and an empty list from a search, unless the next call uses a value that was not "
    "found earlier.",
    "Let the tool say what it did, or that it found nothing.",
    bad='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\n\n</tool_response>\n@assistant\nI do not know.",
    good='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\nNo station in Oslo reports today.\n</tool_response>\n@assistant\n"
    "I do not know.",
)
REPEATED_CALL = Rule(
    "T408",
    "repeated-call",
    Severity.WARNING,
    "The same call is repeated, although it failed or gave the same result before.",
    "The agent goes in circles: the most common shape of a broken chain, which ends at the step limit and costs all "
    "the tokens until then. Looking again after a call that may have changed something is no circle.",
    "Let the error say what to change. Stop the agent after the second identical failure, or tell it that this call "
    "was made before.",
    bad='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\nError: no such city\n</tool_response>\n@assistant\n<tool_call>\n"
    '{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>\n@tool\n<tool_response>\n'
    "Error: no such city\n</tool_response>\n@assistant\nI could not find that city.",
    good='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\n4 degrees\n</tool_response>\n@assistant\n4 degrees.",
)
MISSING_CALL_ID = Rule(
    "T409",
    "missing-call-id",
    Severity.WARNING,
    "A call of an API's message has no id.",
    "The result of a call names its id. Without one the client cannot answer the call, or pairs by order and mixes "
    "results up; the provider refuses a history with such a call.",
    "Servers that parse a model's text must make one up: update the server, or let the client add one before it keeps "
    "the message.",
    bad='{"role": "assistant", "content": null, "tool_calls": [{"type": "function", "function": {"name": '
    '"get_time", "arguments": "{}"}}]}',
    good='{"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function", "function": '
    '{"name": "get_time", "arguments": "{}"}}]}',
    format="openai",
)
MALFORMED_CALL_ID = Rule(
    "T410",
    "malformed-call-id",
    Severity.WARNING,
    "A call's id is not of the kind that its format takes.",
    "Mistral's ids are nine letters or digits, and its own request validation refuses a conversation that holds any "
    "other: the call runs, and the next request fails. Ids copied from another provider (`call_...`) are the usual "
    "cause.",
    "Make ids of nine letters or digits, and translate those of a history that another provider began.",
    bad="[TOOL_CALLS]get_time[CALL_ID]call_12[ARGS]{}",
    good="[TOOL_CALLS]get_time[CALL_ID]a1b2c3d4e[ARGS]{}",
    format="mistral",
)
PLACEHOLDER_ARGUMENT = Rule(
    "T411",
    "placeholder-argument",
    Severity.WARNING,
    "An argument is a placeholder, and no value.",
    "The model planned several calls at once and wrote `<previous_result>`, `{{user_id}}` or `$results[0].id` where "
    "the value was still to come. Nothing fills it in: the tool gets the placeholder itself, and answers for "
    "something that does not exist. What the user or a tool wrote so is no placeholder.",
    "Say in the prompt that calls which need each other's results come one after the other, or turn parallel calls "
    "off.",
    bad="@user\nCancel my last order.\n@assistant\n<tool_call>\n"
    '{"name": "find_orders", "arguments": {"customer": "me"}}\n</tool_call>\n<tool_call>\n'
    '{"name": "cancel_order", "arguments": {"order_id": "<previous_result>"}}\n</tool_call>',
    good="@user\nCancel my last order.\n@assistant\n<tool_call>\n"
    '{"name": "find_orders", "arguments": {"customer": "me"}}\n</tool_call>',
)
UNSUPPORTED_ARGUMENT = Rule(
    "T412",
    "unsupported-argument",
    Severity.WARNING,
    "An argument names something by an id that does not appear earlier.",
    "An order's number, an account or an address must come from the user, the system prompt or a tool's result; one "
    "that is in none of them was invented, and the call reads or changes somebody else's. Only ids are looked at, "
    "only where the whole conversation is known, and not those of calls that make something new. Dates, numbers and "
    "words are the model's to choose.",
    "Look at the call before: a lookup that failed or was never made. Let the tool check ids against the session, and "
    "the prompt say that an unknown id is to be asked for.",
    bad="@user\nRefund my last order, please.\n@assistant\n<tool_call>\n"
    '{"name": "refund", "arguments": {"order_id": "W7731902"}}\n</tool_call>',
    good="@user\nRefund order W7731902, please.\n@assistant\n<tool_call>\n"
    '{"name": "refund", "arguments": {"order_id": "W7731902"}}\n</tool_call>',
)
UNRECOVERED_ERROR = Rule(
    "T413",
    "unrecovered-error",
    Severity.ERROR,
    "A tool answered with an error, and the agent went on as if it had not.",
    "The chain broke at the tool's error: no later call did its work. That can happen; but here the agent neither "
    "said so nor tried another way. It went on as if it had a result, or with a value of its own making, and what "
    "follows has no basis. The mark is at that value, or where the agent went on. An agent that reports the "
    "failure is not meant, nor one that is still trying when the recording ends.",
    "Look whether the error looked like one to the model: a flag that the template drops, or a stack trace without a "
    "sentence, passes for data. Then let the prompt say that a failed call must be reported.",
    bad='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool error\n<tool_response>\nError: the service is down\n</tool_response>\n@assistant\n"
    "It is sunny in Oslo, so leave the coat at home.",
    good='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool error\n<tool_response>\nError: the service is down\n</tool_response>\n@assistant\n"
    "The weather service is down; I cannot say.",
)
NO_FINAL_ANSWER = Rule(
    "T414",
    "no-final-answer",
    Severity.WARNING,
    "The conversation ends with a tool's result, or with an empty turn: the agent never answered.",
    "The user waits, and nothing comes. Agents stop so at a silent step limit, when the last result is too "
    "long for the context, or when a model ends its turn after its reasoning. Not meant are a recording that says why "
    "it ended (a cut, an error, a limit), one that its source counts as a success, tools that end the work themselves "
    "(`finish`, `submit`), and calls that still wait for their result.",
    "Look at the client's step limit and at the size of the last result. After reasoning alone, send the turn once "
    "more, or look for an end-of-turn token that the template puts after `</think>`.",
    bad='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\n4 degrees\n</tool_response>",
    good='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\n4 degrees\n</tool_response>\n@assistant\n4 degrees.",
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
