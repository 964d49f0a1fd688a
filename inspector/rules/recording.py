"""C5xx: the recording itself."""

from weaklink.inspector.rules.rule import FILE_FORMAT, Rule, Severity

SEQUENCE_GAP = Rule(
    "C501",
    "sequence-gap",
    Severity.WARNING,
    "Chunks of a stream are missing from the recording, or were recorded twice.",
    "Every chunk of a turn has a number, counted over all its parts. If a number is missing, the recorder lost text: "
    "a call that looks broken at that position may have been complete on the wire, so the model is not at fault.",
    "Check for a full disk, a killed recorder, or a trace file that was edited or joined by hand. Use another "
    "recording of the turn, or exclude it.",
    bad="@user\nWeather in Oslo?\n@assistant sequences=0,1,4 cuts=3,6\nIt is sunny.",
    good="@user\nWeather in Oslo?\n@assistant sequences=0,1,2 cuts=3,6\nIt is sunny.",
)
STALLED_STREAM = Rule(
    "C502",
    "stalled-stream",
    Severity.WARNING,
    "No data arrived for more than ten seconds in the middle of a stream.",
    "The server was busy with other requests (a full queue, a long prompt, swapped memory), a proxy buffered chunks, "
    "or the model used hidden reasoning. Clients with a read timeout fail here, and an agent's retry makes the queue "
    "longer. The rule uses recorded times only, and ignores the time before the first chunk: a slow start is not a "
    "stall.",
    "Compare the time with the server's log. If hidden reasoning is the cause, raise the client's read timeout.",
    bad="@user\nWeather in Oslo?\n@assistant offsets_s=0.4,0.5,14.2 cuts=3,6\nIt is sunny.",
    good="@user\nWeather in Oslo?\n@assistant offsets_s=0.4,0.5,0.6 cuts=3,6\nIt is sunny.",
)
CUT_OFF_BY_LENGTH = Rule(
    "C503",
    "cut-off-by-length",
    Severity.WARNING,
    "The server stopped the answer at its length limit.",
    "The model did not finish what is at the end. A call that is truncated there is not the model's fault, and a "
    "truncated answer may look complete.",
    "Raise `max_tokens`, or request less at once: a file in pieces, a shorter plan. If reasoning used up the limit, "
    "limit the reasoning.",
    bad="@user\nWeather in Oslo?\n@assistant finish=length\nIt is sunny in Os",
    good="@user\nWeather in Oslo?\n@assistant finish=stop\nIt is sunny in Oslo.",
)
ABORTED_STREAM = Rule(
    "C504",
    "aborted-stream",
    Severity.WARNING,
    "The stream ended without the server's end sign.",
    "The connection broke, the client disconnected, or the server crashed. Text and calls up to that point are kept. "
    "An agent that does not notice treats an incomplete answer as complete.",
    "Check what ended it: a client's timeout, a proxy's idle limit, the server's log. Ignore faults at the end of "
    "this turn.",
    bad="@user\nWeather in Oslo?\n@assistant body=truncated\nIt is sunny in Os",
    good="@user\nWeather in Oslo?\n@assistant finish=stop\nIt is sunny in Oslo.",
)
UPSTREAM_ERROR = Rule(
    "C505",
    "upstream-error",
    Severity.ERROR,
    "The server answered with an error instead of a generation.",
    "The turn contains no output of the model; the text of the error states the reason. A client that retries blindly "
    "makes a rate limit worse.",
    "Read the status: 400 is the request (too long, a bad schema), 401 and 403 the key, 429 the rate, 5xx the server.",
    bad="@user\nWeather in Oslo?\n@assistant error=http status=429 says=Too_many_requests",
    good="@user\nWeather in Oslo?\n@assistant finish=stop\nIt is sunny in Oslo.",
)
INVALID_UTF8 = Rule(
    "C506",
    "invalid-utf8",
    Severity.WARNING,
    "The text contains bytes that are not UTF-8, or half a surrogate pair.",
    "A server split a character, or a binary body was recorded. The bytes are kept, each as one lone surrogate; "
    "databases and most JSON readers reject them, so the next request may fail with an encoding error far from here.",
    "A server that decodes token by token must buffer an incomplete character: update it. A tool that returns binary "
    "data should encode it.",
    bad="caf\udce9 au lait",
    good="café au lait",
)
UNKNOWN_WIRE_EVENT = Rule(
    "C507",
    "unknown-wire-event",
    Severity.INFO,
    "The stream contains an event that the decoder does not know.",
    "It is kept unchanged. Newer servers add events; its content may matter, and clients may ignore it silently as "
    "well.",
    "Read the event. If it is a piece of an answer, weaklink did not include it in this turn: please report the event.",
    bad='@user\nWeather in Oslo?\n@assistant finish=stop\nIt is sunny.\n@wire:unread\n{"object": "weather.forecast"}',
    good="@user\nWeather in Oslo?\n@assistant finish=stop\nIt is sunny.",
)
ERROR_INSIDE_200 = Rule(
    "C508",
    "error-inside-200",
    Severity.ERROR,
    "The server sent an error inside a stream that began normally.",
    "The server had already sent status 200 when the generation failed. Clients that check only the status see an "
    "empty or short answer, and agents treat it as the model's final answer.",
    "Let the client check every event of a stream for an `error`, and retry the request as after a 5xx.",
    bad="@user\nWeather in Oslo?\n@assistant error=in_stream says=The_engine_died\nIt is sunny in Os",
    good="@user\nWeather in Oslo?\n@assistant finish=stop\nIt is sunny in Oslo.",
)
NUL_CHARACTER = Rule(
    "C509",
    "nul-character",
    Severity.WARNING,
    "The text contains NUL characters.",
    "They are kept, but databases and C programs truncate or reject such text: whatever stored it before may have "
    "lost the rest.",
    "Check which tool returns binary data, or which decoder emits padding tokens as NUL.",
    bad="The file begins with \x00\x00MZ.",
    good="The file begins with two NUL bytes and MZ.",
)
REUSED_CALL_INDEX = Rule(
    "C510",
    "reused-call-index",
    Severity.WARNING,
    "The server sent pieces of several calls under one index.",
    "The index says which call a streamed piece belongs to, so clients that follow it concatenate the arguments of "
    "both calls, or lose the first. weaklink separated the calls by their ids, their names and the ends of their "
    "objects.",
    "Update the server, or turn parallel calls off for this server. If your client shows one call with broken JSON, "
    "this is why.",
    bad='@user\nWeather in Oslo and Bergen?\n@assistant\n@call:0 name=get_weather id=call_1\n{"city": "Oslo"}\n'
    '@call:1 name=get_weather id=call_2\n{"city": "Bergen"}\n@wire:reused_index\n'
    '{"index": 0, "id": "call_2", "function": {"name": "get_weather"}}',
    good='@user\nWeather in Oslo and Bergen?\n@assistant\n@call:0 name=get_weather id=call_1\n{"city": "Oslo"}\n'
    '@call:1 name=get_weather id=call_2\n{"city": "Bergen"}',
)
UNREADABLE_RECORD = Rule(
    "C511",
    "unreadable-record",
    Severity.ERROR,
    "A record of a log could not be read, so it was not checked.",
    "A row that is truncated, is not JSON, or lacks its messages yields no trace. If the check skipped it and exited "
    "with 0, it would report a file as valid although a part was not inspected; a training run then fails on that "
    "row, or learns from an incomplete one. `weaklink check` reports this rule regardless of `--select`.",
    "Repair or remove the record. A truncated row is often the sign of a full disk or a killed writer. `weaklink "
    "check --allow-skipped` or `--ignore C511` lets such records pass.",
    bad='{"messages": [{"role": "user", "content": "Weather in Oslo?"}]}\n'
    '{"messages": [{"role": "user", "content": "Weather in Ber',
    good='{"messages": [{"role": "user", "content": "Weather in Oslo?"}]}\n'
    '{"messages": [{"role": "user", "content": "Weather in Bergen?"}]}',
    format=FILE_FORMAT,
)
NOT_AN_ANSWER = Rule(
    "C512",
    "not-an-answer",
    Severity.ERROR,
    "The server reported success but sent something that is not a model's answer.",
    "A login page, a proxy's notice or another service's JSON came with a status below 400. Clients that check only "
    "the status read it as an empty answer, or fail while parsing it, far from the cause.",
    "Open the address in a browser: it may require a login, or lack the API's path (`/v1`). Check whether a gateway "
    "in front of the model server answers instead.",
    bad="@user\nWeather in Oslo?\n@assistant error=http status=200 says=Please_log_in\n"
    "@wire:unread\n<html><body>Please log in.</body></html>",
    good="@user\nWeather in Oslo?\n@assistant finish=stop\nIt is sunny in Oslo.",
)
UNREADABLE_FILE = Rule(
    "C513",
    "unreadable-file",
    Severity.ERROR,
    "A file could not be read, or not completely, so the unread part was not checked.",
    "The file does not exist, is not readable, is empty, is truncated, or has an unknown format. If the check still "
    "exited with 0, it would report success for a file that it never inspected. A file of an unknown source that was "
    "only found while searching a directory is counted, and fails the check only with `--strict`. `weaklink check` "
    "reports this rule regardless of `--select`.",
    "Check for a wrong path, missing permissions, or an interrupted download; `--source` names the source of a file "
    "that is not recognised. `weaklink check --allow-skipped` or `--ignore C513` lets such files pass.",
    bad="The weather in Oslo and in Bergen, with tools.",
    good='{"messages": [{"role": "user", "content": "Weather in Oslo?"}]}',
    format=FILE_FORMAT,
)
REPEATED_REQUEST = Rule(
    "C514",
    "repeated-request",
    Severity.WARNING,
    "A request failed, and the client repeated it with success.",
    "Nothing is lost but time: the turn contains no output of the model, and a later attempt at the same request has "
    "it. Many of these slow an agent down, and a client that repeats without a pause makes a rate limit worse.",
    "Read the status: 429 is the rate, 5xx the server. If it is frequent, raise the limit, or the client's pause "
    "between attempts.",
    bad="@user\nWeather in Oslo?\n@assistant error=http status=429 says=Too_many_requests\n"
    "@assistant attempt=2 finish=stop\nIt is sunny in Oslo.",
    good="@user\nWeather in Oslo?\n@assistant finish=stop\nIt is sunny in Oslo.",
)
REPEATED_CALL_NAME = Rule(
    "C515",
    "repeated-call-name",
    Severity.WARNING,
    "The server sent the name of a call more than once.",
    "The pieces of a streamed call are joined by the client. Many clients join the names, too, so a name that comes "
    "with each piece becomes `get_weatherget_weather`, and no tool has that name. weaklink keeps the first name.",
    "Update the server: only the first piece of a call has its name. Until then, turn streaming off.",
    bad='@user\nWeather in Oslo?\n@assistant\n@call:0 name=get_weather id=call_1\n{"city": "Oslo"}\n'
    '@wire:repeated_name\n{"index": 0, "function": {"name": "get_weather", "arguments": "}"}}',
    good='@user\nWeather in Oslo?\n@assistant\n@call:0 name=get_weather id=call_1\n{"city": "Oslo"}',
)
FINISH_WITHOUT_CALL = Rule(
    "C516",
    "finish-without-call",
    Severity.ERROR,
    "The server says that the answer ends with calls, but the answer has none.",
    "The agent looks for calls, finds none, and stops, fails or asks again. The server's parser lost the call, often "
    "because it could not read what the model wrote, and did not keep the text either.",
    "Read the server's log for an error of its tool parser; ask again without a tool parser to see what the model "
    "wrote.",
    bad="@user\nWeather in Oslo?\n@assistant finish=tool_calls\nI look it up.",
    good="@user\nWeather in Oslo?\n@assistant finish=stop\nIt is sunny in Oslo.",
)

RULES = (
    SEQUENCE_GAP,
    STALLED_STREAM,
    CUT_OFF_BY_LENGTH,
    ABORTED_STREAM,
    UPSTREAM_ERROR,
    INVALID_UTF8,
    UNKNOWN_WIRE_EVENT,
    ERROR_INSIDE_200,
    NUL_CHARACTER,
    REUSED_CALL_INDEX,
    UNREADABLE_RECORD,
    NOT_AN_ANSWER,
    UNREADABLE_FILE,
    REPEATED_REQUEST,
    REPEATED_CALL_NAME,
    FINISH_WITHOUT_CALL,
)
