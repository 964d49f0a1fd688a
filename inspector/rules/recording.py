"""C5xx: the recording itself."""

from inspector.rules.rule import FILE_FORMAT, Rule, Severity

SEQUENCE_GAP = Rule(
    "C501",
    "sequence-gap",
    Severity.WARNING,
    "Chunks of a stream are missing from the recording, or came twice.",
    "Every arrival of a turn has a number, counted over all its parts. Where a number is missing, the recorder lost "
    "text: a call that looks broken just there may have been whole on the wire, so the model is not to blame.",
    "Look for a full disk, a recorder that was killed, or a trace file that was edited or joined by hand. Judge the "
    "turn by another recording, or leave it out.",
    bad="@user\nWeather in Oslo?\n@assistant sequences=0,1,4 cuts=3,6\nIt is sunny.",
    good="@user\nWeather in Oslo?\n@assistant sequences=0,1,2 cuts=3,6\nIt is sunny.",
)
STALLED_STREAM = Rule(
    "C502",
    "stalled-stream",
    Severity.WARNING,
    "Nothing came for more than ten seconds in the middle of a stream.",
    "The server was busy with others (a full queue, a long prompt being read in, swapped memory), a proxy held pieces "
    "back, or the model thought without showing it. Clients with a read timeout give up here, and an agent's retry "
    "makes the queue longer. Only times that were recorded count, and the time before the first chunk does not: a "
    "slow start is no stall.",
    "Compare the moment with the server's log. Where hidden reasoning is the reason, raise the client's read timeout.",
    bad="@user\nWeather in Oslo?\n@assistant offsets_s=0.4,0.5,14.2 cuts=3,6\nIt is sunny.",
    good="@user\nWeather in Oslo?\n@assistant offsets_s=0.4,0.5,0.6 cuts=3,6\nIt is sunny.",
)
CUT_OFF_BY_LENGTH = Rule(
    "C503",
    "cut-off-by-length",
    Severity.WARNING,
    "The server stopped the answer at its length limit.",
    "What is at the end was not finished by the model. A call that is cut there is no fault of the model's, and "
    "an answer that is cut may look complete.",
    "Raise `max_tokens`, or ask for less at once: a file in pieces, a shorter plan. If reasoning took the room, limit "
    "it.",
    bad="@user\nWeather in Oslo?\n@assistant finish=length\nIt is sunny in Os",
    good="@user\nWeather in Oslo?\n@assistant finish=stop\nIt is sunny in Oslo.",
)
ABORTED_STREAM = Rule(
    "C504",
    "aborted-stream",
    Severity.WARNING,
    "The stream ended without the server's end sign.",
    "The connection dropped, the client left, or the server fell over. Text and calls up to that point are kept. An "
    "agent that does not notice takes half an answer for a whole one.",
    "Look who ended it: a client's timeout, a proxy's idle limit, the server's log. Judge nothing that is at the "
    "end of this turn.",
    bad="@user\nWeather in Oslo?\n@assistant body=truncated\nIt is sunny in Os",
    good="@user\nWeather in Oslo?\n@assistant finish=stop\nIt is sunny in Oslo.",
)
UPSTREAM_ERROR = Rule(
    "C505",
    "upstream-error",
    Severity.ERROR,
    "The server answered with an error instead of a generation.",
    "The turn holds no words of the model; the error's own text says why. A client that retries blindly makes a rate "
    "limit worse.",
    "Read the status: 400 is the request (too long, a bad schema), 401 and 403 the key, 429 the rate, 5xx the server.",
    bad="@user\nWeather in Oslo?\n@assistant error=http status=429 says=Too_many_requests",
    good="@user\nWeather in Oslo?\n@assistant finish=stop\nIt is sunny in Oslo.",
)
INVALID_UTF8 = Rule(
    "C506",
    "invalid-utf8",
    Severity.WARNING,
    "The text holds bytes that are not UTF-8, or half a surrogate pair.",
    "A server cut a character in two, or a binary body was recorded. The bytes are kept, each as one lone surrogate; "
    "databases and most JSON readers refuse them, so the next request may fail with an encoding error far from here.",
    "A server that decodes token by token must hold back half a character: update it. A tool that returns binary data "
    "should encode it.",
    bad="caf\udce9 au lait",
    good="café au lait",
)
UNKNOWN_WIRE_EVENT = Rule(
    "C507",
    "unknown-wire-event",
    Severity.INFO,
    "The wire carried an event that this decoder does not know.",
    "It is kept word for word. Newer servers add events; what it held may matter, and clients may ignore it just as "
    "silently.",
    "Read what it says. If it is a piece of an answer, weaklink's reading of this turn lacks it: please report the "
    "event.",
    bad='@user\nWeather in Oslo?\n@assistant finish=stop\nIt is sunny.\n@wire:unread\n{"object": "weather.forecast"}',
    good="@user\nWeather in Oslo?\n@assistant finish=stop\nIt is sunny.",
)
ERROR_INSIDE_200 = Rule(
    "C508",
    "error-inside-200",
    Severity.ERROR,
    "The server sent an error inside a stream that began well.",
    "Status 200 was already out when the generation failed. Clients that look only at the status see an empty or "
    "short answer, and agents take it for the model's last word.",
    "Let the client look for an `error` in every event of a stream, and retry the request as after a 5xx.",
    bad="@user\nWeather in Oslo?\n@assistant error=in_stream says=The_engine_died\nIt is sunny in Os",
    good="@user\nWeather in Oslo?\n@assistant finish=stop\nIt is sunny in Oslo.",
)
NUL_CHARACTER = Rule(
    "C509",
    "nul-character",
    Severity.WARNING,
    "The text holds NUL characters.",
    "It is kept, but databases and C programs cut or refuse such a text: whatever stored it before may have lost the "
    "rest.",
    "Look which tool returns binary data, or which decoder emits padding tokens as NUL.",
    bad="The file begins with \x00\x00MZ.",
    good="The file begins with two NUL bytes and MZ.",
)
REUSED_CALL_INDEX = Rule(
    "C510",
    "reused-call-index",
    Severity.WARNING,
    "The server sent pieces of several calls under one index.",
    "The index says which call a streamed piece belongs to, so clients that keep to it run the arguments of both "
    "calls together, or lose the first. Here they were told apart by their ids, their names and where their objects "
    "end.",
    "Update the server, or turn parallel calls off for this one. If your client shows one call with broken JSON, this "
    "is why.",
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
    "A record of a log could not be read, so nothing in it was checked.",
    "A row that is cut off, is not JSON, or lacks its messages gives no trace. A check that left it out and ended with "
    "0 would call a file sound of which a part was not inspected; a training run then fails on that row, or learns "
    "from half of it. `weaklink check` reports this rule whatever `--select` names.",
    "Repair or remove the record. A row that breaks off often ends where the disk was full or the writer was killed. "
    "`weaklink check --allow-skipped` or `--ignore C511` lets such records pass.",
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
    "The server said that all is well and sent something that is no answer of a model.",
    "A login page, a proxy's notice or another service's JSON came with a status below 400. Clients that look only at "
    "the status take it for an empty answer, or fail while they read it, far from the cause.",
    "Open the address in a browser: it may require a login, or end without the API's path (`/v1`). Check whether a "
    "gateway before the model server answers by itself.",
    bad="@user\nWeather in Oslo?\n@assistant error=http status=200 says=Please_log_in\n"
    "@wire:unread\n<html><body>Please log in.</body></html>",
    good="@user\nWeather in Oslo?\n@assistant finish=stop\nIt is sunny in Oslo.",
)
UNREADABLE_FILE = Rule(
    "C513",
    "unreadable-file",
    Severity.ERROR,
    "A file could not be read, or not to its end, so nothing in it, or in its rest, was checked.",
    "The file is not there, may not be read, is empty, breaks off, or has an unknown format. A check that ends "
    "with 0 nevertheless says that all is well with a file that it never inspected. A file that was only found by "
    "walking a folder and is of no known source is counted, and fails with `--strict` alone. `weaklink check` reports "
    "this rule whatever `--select` names.",
    "Look for a wrong path, missing permissions, or a download that was interrupted; `--source` names the source of a "
    "file that is not recognised. `weaklink check --allow-skipped` or `--ignore C513` lets such files pass.",
    bad="The weather in Oslo and in Bergen, with tools.",
    good='{"messages": [{"role": "user", "content": "Weather in Oslo?"}]}',
    format=FILE_FORMAT,
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
)
