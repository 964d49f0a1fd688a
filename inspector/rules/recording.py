"""C5xx: the recording itself."""

from inspector.rules.rule import Rule, Severity

CUT_OFF_BY_LENGTH = Rule(
    "C503",
    "cut-off-by-length",
    Severity.WARNING,
    "The server stopped the answer at its length limit.",
    "What stands at the end was not finished by the model. A call that is cut there is no fault of the model's.",
)
ABORTED_STREAM = Rule(
    "C504",
    "aborted-stream",
    Severity.WARNING,
    "The stream ended without the server's end sign.",
    "The connection dropped, the client left, or the server fell over. Text and calls up to that point are kept.",
)
UPSTREAM_ERROR = Rule(
    "C505",
    "upstream-error",
    Severity.ERROR,
    "The server answered with an error instead of a generation.",
    "The turn holds no words of the model; the error's own text says why.",
)
INVALID_UTF8 = Rule(
    "C506",
    "invalid-utf8",
    Severity.WARNING,
    "The text holds bytes that are not UTF-8, or half a surrogate pair.",
    "A server cut a character in two, or a binary body was recorded. The bytes are kept, each as one lone surrogate; "
    "databases and most JSON readers refuse them.",
)
UNKNOWN_WIRE_EVENT = Rule(
    "C507",
    "unknown-wire-event",
    Severity.INFO,
    "The wire carried an event that this decoder does not know.",
    "It is kept word for word. Newer servers add events; what it held may matter.",
)
ERROR_INSIDE_200 = Rule(
    "C508",
    "error-inside-200",
    Severity.ERROR,
    "The server sent an error inside a stream that began well.",
    "Status 200 was already out when the generation failed. Clients that look only at the status see an empty or short "
    "answer.",
)
NUL_CHARACTER = Rule(
    "C509",
    "nul-character",
    Severity.WARNING,
    "The text holds NUL characters.",
    "It is kept, but databases and C programs cut or refuse such a text: whatever stored it before may have lost the "
    "rest.",
)
REUSED_CALL_INDEX = Rule(
    "C510",
    "reused-call-index",
    Severity.WARNING,
    "Two calls of a stream bear the same index.",
    "The index says which call a piece of a stream belongs to. Some servers number every call 0; clients then join the "
    "arguments of all calls to one text that nobody can read. weaklink tells the calls apart by id and name.",
)

RULES = (
    CUT_OFF_BY_LENGTH,
    ABORTED_STREAM,
    UPSTREAM_ERROR,
    INVALID_UTF8,
    UNKNOWN_WIRE_EVENT,
    ERROR_INSIDE_200,
    NUL_CHARACTER,
    REUSED_CALL_INDEX,
)
