"""T4xx: calls and results across turns."""

from inspector.rules.rule import Rule, Severity

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

RULES = (RESULT_WITHOUT_CALL, CALL_WITHOUT_RESULT)
