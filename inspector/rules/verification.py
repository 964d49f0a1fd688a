"""The rules of verifiers: what a candidate answer lacks or has in excess, given its context or its reference."""

from weaklink.inspector.rules.rule import ROW_FORMAT, Rule, Severity

_TOOLS = (
    '[{"type": "function", "function": {"name": "get_weather", "description": "Current weather of a city", '
    '"parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]'
)
_CALL = '<tool_call>\\n{\\"name\\": \\"get_weather\\", \\"arguments\\": {\\"city\\": \\"Oslo\\"}}\\n</tool_call>'


def _row(user: str, answer: str, more: str = "") -> str:
    return (
        f'{{"verifier": "tool-use",\n "tools": {_TOOLS},\n "messages": [\n'
        f'  {{"role": "user", "content": "{user}"}},\n  {{"role": "assistant", "content": "{answer}"}}]{more}}}'
    )


UNNEEDED_CALL = Rule(
    "V901",
    "unneeded-call",
    Severity.ERROR,
    "The candidate calls a tool, but the reference has no such call.",
    "A model that calls tools whenever tools are available is slow, expensive and often wrong. The row states which "
    "calls its task needs: `expected` lists them, and `[]`, the type `no_tool_call` or `should_call_tool: false` mean "
    "that there are none. This call is not among them. A call that failed and was corrected later is ignored.",
    "Exclude the candidate from the set. If the call is correct, add it to `expected`.",
    bad=_row("What is the capital of Norway?", _CALL, ',\n "expected": []'),
    good=_row("What is the capital of Norway?", "Oslo.", ',\n "expected": []'),
    format=ROW_FORMAT,
)
MISSING_CALL = Rule(
    "V902",
    "missing-call",
    Severity.ERROR,
    "A call that the task needs was not made.",
    "The reference lists a call that the candidate does not make. Without a reference, the answer itself shows it: it "
    "states a number, or claims an action, that appears in no result and in no user message, although tools were "
    "offered. Such an answer is invented, and a model that learns from it invents more.",
    "Exclude the candidate from the set, or write the call and its result before the answer.",
    bad=_row("How warm is it in Oslo?", "It is 17 degrees in Oslo."),
    good=_row("How warm is it in Oslo?", _CALL),
    format=ROW_FORMAT,
)
WRONG_CALL = Rule(
    "V903",
    "wrong-call",
    Severity.ERROR,
    "A call has different arguments than the reference.",
    "The candidate calls the right tool, but an argument is missing, is not in the reference, or has another value. "
    "Values are compared deeply; 5 and 5.0 are equal, and strings must be identical. A reference of the Berkeley "
    "Function-Calling Leaderboard may list several values for an argument, and optional ones.",
    "Exclude the candidate from the set, or list the other value in the reference if it is also correct.",
    bad=_row("Weather in Oslo?", _CALL, ',\n "expected": [{"name": "get_weather", "arguments": {"city": "Bergen"}}]'),
    good=_row("Weather in Oslo?", _CALL, ',\n "expected": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]'),
    format=ROW_FORMAT,
)
UNSOURCED_ARGUMENT = Rule(
    "V904",
    "unsourced-argument",
    Severity.ERROR,
    "An argument has a value that does not appear in the context.",
    "The value does not appear in a user message, the system prompt or a result before the call, even after "
    "normalising case, dates, times and number words. It is not an enum value, a default, an ISO code, or text that "
    "the model composes itself, such as a query or a subject. So the model made it up. T412 is the weaker form of "
    "this rule: it checks only ids, in every recorded conversation.",
    "Exclude the candidate from the set. A good answer asks for the value, or looks it up with a tool first.",
    bad=_row("How is the weather?", _CALL),
    good=_row("How is the weather in Oslo?", _CALL),
    format=ROW_FORMAT,
)
WRONG_ANSWER_FORMAT = Rule(
    "V905",
    "wrong-answer-format",
    Severity.ERROR,
    "The answer does not have the format that the row requires.",
    "The row's `answer_format` is a regular expression, and the whole answer, without its closed reasoning and "
    "surrounding white space, must match it. A trainer that extracts the answer with that expression would find "
    "nothing.",
    "Exclude the candidate from the set, or correct the expression.",
    bad='{"verifier": "answer-format", "answer_format": "\\\\\\\\boxed\\\\{.+\\\\}",\n "messages": [\n'
    '  {"role": "user", "content": "1+1?"},\n  {"role": "assistant", "content": "It is 2."}]}',
    good='{"verifier": "answer-format", "answer_format": "\\\\\\\\boxed\\\\{.+\\\\}",\n "messages": [\n'
    '  {"role": "user", "content": "1+1?"},\n  {"role": "assistant", "content": "\\\\boxed{2}"}]}',
    format=ROW_FORMAT,
)

EMPTY_ANSWER = Rule(
    "V906",
    "empty-answer",
    Severity.ERROR,
    "The candidate has no answer: no call, and no text outside its reasoning.",
    "A reward for an empty answer teaches the model to write nothing, which is always shorter than an answer. "
    "Reasoning alone is no answer either: an application shows nothing of it.",
    "Exclude the candidate from the set. If many answers are empty, look at the generation's length limit and at the "
    "stop words.",
    bad=_row("What is the capital of Norway?", "<think>Oslo, I think.</think>"),
    good=_row("What is the capital of Norway?", "Oslo."),
    format=ROW_FORMAT,
)

RULES = (UNNEEDED_CALL, MISSING_CALL, WRONG_CALL, UNSOURCED_ARGUMENT, WRONG_ANSWER_FORMAT, EMPTY_ANSWER)
