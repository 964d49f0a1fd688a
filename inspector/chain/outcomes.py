"""The outcome of each call, and whether its result is an error.

An error shows by a flag, by the result's structure, by its words only, by the user's own patterns, or by the call's
diagnostics.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from types import MappingProxyType
from typing import Any
from unicodedata import combining, normalize

import msgspec
from msgspec import structs

from weaklink.inspector.chain.background_runs import BackgroundRuns
from weaklink.inspector.chain.check_results import hidden_finding
from weaklink.inspector.chain.effects import (
    Effect,
    effects_of,
    has_known_effect,
    is_http_client,
    only_asks,
    only_fetches,
    runs_shell,
)
from weaklink.inspector.chain.endings import ends_unanswered
from weaklink.inspector.chain.failure_words import (
    ERROR_WORDS,
    HEAD,
    error_line,
    fails_within,
    fault_line,
    first_line,
    telling_line,
)
from weaklink.inspector.chain.known_paths import KnownPaths
from weaklink.inspector.chain.pairing import Pairing, PlacedCall
from weaklink.inspector.chain.provenance_terms import leaves
from weaklink.inspector.chain.refusals import never_ran
from weaklink.inspector.chain.refused_changes import NOTHING_DONE
from weaklink.inspector.chain.result_kinds import Failure, Judgement, ResultEvidence, kind_of_result
from weaklink.inspector.chain.result_words import (
    error_before_pipe,
    error_despite_code,
    is_running,
    is_shown_object,
    printed_exit_code,
    states_code_in_content,
    words_decide,
)
from weaklink.inspector.chain.shell_frames import EXIT_KEYS, METADATA, exit_code_of, unframed
from weaklink.inspector.chain.steps import SYNTAX_CODES, CallFaults, Certainty, ResultKind, Step, StepOutcome
from weaklink.inspector.chain.tool_kinds import ToolKind, bare_name, ends_run, kind_of
from weaklink.inspector.chain.verdict_rules import VerdictRule
from weaklink.inspector.errors import InvalidPatternError
from weaklink.inspector.json_text import count_of
from weaklink.inspector.memoized import memoized
from weaklink.inspector.model import RecordedState, Role, RunState, ToolCall, ToolResult, Trace
from weaklink.inspector.rules.layers import CALL_LOST_BY_SERVER
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import without_terminal_sequences

PATTERN_SEARCH_LIMIT = 65_536
"""How much of a result's beginning, and of its end, is searched, in code points."""

_LONGEST = 400
_WRAPS = 4  # results come wrapped: a template's {"name", "content"}, an API's blocks, a server's own envelope
_ENVELOPE = ("content", "output", "result", "response", "data", "text")
# Fields that state an error; in the languages of services, the word for it.
_BARE = str.maketrans("łøđı", "lodi")  # letters that no normal form takes apart


def _also_bare(words: Iterable[str]) -> tuple[str, ...]:
    """Words, and each as it is written in identifiers: without marks on its Latin letters (`błąd`, `blad`)."""
    bare = (normalize("NFD", word.translate(_BARE)) for word in words if word[0].isascii() or word[0] in "éł")
    return tuple(dict.fromkeys((*words, *("".join(c for c in word if not combining(c)) for word in bare))))


_ERROR_IN_LANGUAGES = frozenset(_also_bare(ERROR_WORDS))
_ERROR_NAMES = (
    *(
        "error",
        "errors",
        "errorMessages",
        "error_messages",
        "error_message",
        "errorMessage",
        "Error Message",
        "error_msg",
    ),
    *("errmsg", "error_description", "errorDescription", "error_code", "errorCode", "errcode", "Error", "exception"),
    *("FunctionError", *sorted(_ERROR_IN_LANGUAGES)),
)
_REASONS = (
    *("grund", "motif", "raison", "motivo", "reden", "причина", "原因", "理由"),
    *("nachricht", "mensaje", "mensagem", "messaggio", "сообщение", "消息", "pesan", "alasan", "bericht", "meddelelse"),
    *("meddelande", "melding", "orsak", "årsag", "wiadomość", "powód", "zpráva", "důvod", "mesaj", "sebep", "üzenet"),
    *("viesti", "syy", "μήνυμα", "повідомлення", "съобщение", "메시지", "メッセージ", "رسالة", "הודעה", "संदेश"),
)
_SUCCESSES = ("erfolg", "succès", "succes", "exito", "éxito", "sucesso", "successo", "успех", "成功")
_WORDS = (
    *(*_ERROR_NAMES, "message", "detail", "details", "reason", "stderr", "error_message", "content", "output"),
    *_REASONS,
)
_HTTP_CODES = ("status", "status_code", "statusCode", "http_status", "code", "cod")

_EXIT_KEYS = frozenset(EXIT_KEYS)
_ERROR_KEYS = frozenset((*EXIT_KEYS, *_HTTP_CODES, "isError", "is_error", *_ERROR_NAMES, METADATA)) | {
    *("success", "ok", "succeeded", "issue", "state")
}

_FAILED = frozenset({"error", "failed", "failure", "fail", "timeout", "timed_out"}) | _ERROR_IN_LANGUAGES
# Of a request that a service refused, with its reason.
_REFUSED_TABLE = (
    "rejected refused denied declined abgelehnt verweigert refusé refusée rejeté rejetée rechazado rechazada denegado "
    "denegada recusado recusada rejeitado rifiutato rifiutata respinto geweigerd afgewezen nekad avvisad odrzucono "
    "odrzucona odmowa zamítnuto zamítnuta odmítnuto reddedildi отклонено отклонён отказано відхилено відмовлено "
    "拒绝 已拒绝 拒否 却下 거부 거부됨 거절됨 bounced undelivered undeliverable unzustellbar ditolak respins "
    "elutasítva hylätty απορρίφθηκε مرفوض נדחה अस्वीकृत ปฏิเสธ "
    # Of one that failed, in languages other than English, whose "failed" may be the state of a thing.
    "fehlgeschlagen gescheitert échoué échouée échec fallido fallida falhou fallito fallita mislukt misslyckades "
    "mislykkedes mislyktes nieudane nieudany selhalo zlyhalo neuspjelo başarısız sikertelen epäonnistui eșuat gagal "
    "απέτυχε неудача неуспешно невдача 失败 失敗 실패 فشل נכשל विफल ล้มเหลว"
)
# The statuses of HTTP and gRPC refuse a change; elsewhere they are states of things.
_PROTOCOL_TABLE = (
    "conflict gone forbidden unauthorized unauthenticated not_found bad_request invalid_argument permission_denied "
    "already_exists failed_precondition precondition_failed resource_exhausted too_many_requests aborted unavailable "
    "unimplemented out_of_range deadline_exceeded"
)
_REFUSED_CHANGE = frozenset(_also_bare(_PROTOCOL_TABLE.split()))
_NOT_OK = frozenset(("nok", "ko", "failure", "failed"))
_SPACES = lazy_pattern(r"[ -]")
_REFUSED = frozenset(_also_bare(_REFUSED_TABLE.split()))
_NOTHING = frozenset({"", "none", "null", "false", "ok", "0", "no error", "success"})
_MAY_BE_JSON = lazy_pattern(r'\s*(?:[\[{]|(?:null|"")\s*\Z|HTTP[/ ]\d)')
_LONGEST_EMPTY, _MOST_KEPT = 10_000, 64
_UNREADABLE = object()
_decode = msgspec.json.Decoder().decode
_UNKNOWN_TOOL = "T401"
_SCHEMA = "S2"
_GOOD_STATES = (RunState.COMPLETED, RunState.RUNNING)


class ErrorPatterns:
    """Regular expressions (Python's `re`), each of which marks a result as an error if it matches."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns = tuple(_compiled(pattern) for pattern in dict.fromkeys(patterns))

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def line_in(self, text: str) -> str | None:
        """The line of `text` with the match of the first pattern that matches, at most 400 code points of it."""
        if not self._patterns:
            return None
        ends = (
            (text,)
            if len(text) <= 2 * PATTERN_SEARCH_LIMIT
            else (text[:PATTERN_SEARCH_LIMIT], text[-PATTERN_SEARCH_LIMIT:])
        )
        found = (pattern.search(end) for pattern in self._patterns for end in ends)
        return next((_line(match) for match in found if match is not None), None)


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidPatternError(
            f"the error pattern `{pattern}` is not a valid regular expression: {error}"
        ) from error
    if compiled.match(""):
        raise InvalidPatternError(
            f"the error pattern `{pattern}` matches the empty string, so every result would be an error"
        )
    return compiled


def _line(match: re.Match[str]) -> str:
    text = match.string
    start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - _LONGEST // 2)
    end = text.find("\n", match.start())
    return text[start : min(end if end >= 0 else len(text), start + _LONGEST)].strip()


@memoized
def find_error(result: ToolResult, call: ToolCall | None = None) -> Failure | None:
    """What makes `result` an error, by facts before words; None if nothing does.

    Linear in its length, and never raises. What a `call` only reads, and what an error flag clears, is not judged by
    its words.
    """
    recorded = _recorded_failure(result if call is not None else without_frame(result))
    if recorded is not None:
        return recorded
    if _is_recorded_success(result):
        return None if call is None else _failure_within(effects_of(call), result.content)
    layers = _layers(result.content)
    client = _http_client(call) if call is not None else None
    is_lookup = only_fetches(client) if client else call is not None and kind_of(call.name or "") is ToolKind.READS
    if call is not None and (reason := never_ran(call, result.content)) is not None:
        return Failure(Certainty.STRUCTURED, reason, None, (ResultEvidence("words", reason[:200]),))
    for layer in _stating_objects(layers, result, call):
        is_decided, failure = _stated_failure(layer, result, call, client, is_lookup=is_lookup)
        if is_decided:
            return failure
    text = next((layer for layer in reversed(layers) if isinstance(layer, str)), "")
    is_fetched = is_lookup or (call is not None and only_asks(call) is True)
    page = _error_page(text, is_lookup=is_fetched) if client or _fetches_page(call) else None
    failure = page or _text_failure(text, result, call)
    is_field = len(layers) > 1 and text is layers[0]  # words of the fields of an object that states no error
    return None if is_field and failure is not None and failure.certainty is Certainty.TEXTUAL else failure


def _stated_failure(
    fields: dict[str, Any], result: ToolResult, call: ToolCall | None, client: Effect | None, *, is_lookup: bool
) -> tuple[bool, Failure | None]:
    """Whether an object in a result decides what became of the call, and the failure that it states."""
    is_shell = call is not None and runs_shell(call)
    is_printed = result.is_error is False and is_shell and client is None  # JSON that a program printed
    denial = _denial_with_reason(fields, call) if call is not None else None
    refusal = denial or (_refusal_of_service(fields, is_lookup=is_lookup) if client or not is_shell else None)
    if refusal is not None:
        return True, refusal
    if (_EXIT_KEYS if is_printed else _ERROR_KEYS).isdisjoint(fields):
        return False, None
    if call is not None and not result.is_error and _describes_failed_thing(fields, call):
        return True, None
    failure = _structured(fields)
    if failure is not None and result.is_error:
        failure = structs.replace(failure, certainty=Certainty.FLAGGED)
    return failure is not None or (_succeeded(fields) and not result.is_error), failure


def _fetches_page(call: ToolCall | None) -> bool:
    """Whether a tool that runs no program is given an address."""
    is_program = call is None or any(effect.command is not None for effect in effects_of(call))
    return call is not None and not is_program and any("://" in str(value) for _, value in leaves(call.arguments))


def _http_client(call: ToolCall) -> Effect | None:
    """The HTTP client that writes the output of a call's line, if the last program is one."""
    return next((effect for effect in effects_of(call)[-1:] if is_http_client(effect)), None)


def _stating_objects(layers: Sequence[Any], result: ToolResult, call: ToolCall | None) -> Iterator[dict[str, Any]]:
    """The objects in a result that its tool may have written, not those that it only shows."""
    for layer in layers:
        if not isinstance(layer, dict):
            continue
        if call is None or result.is_error or not is_shown_object(call, layer, _ERROR_WORDS):
            yield layer


def _failure_within(effects: tuple[Effect, ...], text: str) -> Failure | None:
    """The failure of one of a line's programs, where the line itself succeeded."""
    code = printed_exit_code(effects, text)
    if code:
        return Failure(Certainty.STRUCTURED, f"exit code {code}", code, (_of_text(code),))
    client = next((effect for effect in effects[-1:] if is_http_client(effect)), None)
    if client is not None and (page := _error_page(text, is_lookup=only_fetches(client))) is not None:
        return page
    body = _decoded(text) if client is not None and text.startswith("{") else None
    if client is not None and isinstance(body, dict):
        is_lookup = only_fetches(client)
        refused = _refusal_of_service(body, is_lookup=is_lookup) or (None if is_lookup else _structured(body))
        if refused is not None:
            return refused
    line = error_before_pipe(effects, text) or error_despite_code(effects, text)
    return None if line is None else Failure(Certainty.TEXTUAL, line, None, (ResultEvidence("words", line[:200]),))


def _text_failure(text: str, result: ToolResult, call: ToolCall | None) -> Failure | None:
    """What makes a text an error: the flag, an exit code that it states, else its words."""
    printed = None if call is None else printed_exit_code(effects_of(call), text)
    framed = unframed(text)
    code = framed.exit_code if printed is None else printed
    if printed is None and code and call is not None and states_code_in_content(call, framed):
        code = None
    stated = () if code is None else (_of_text(code),)
    if result.is_error:
        flag = ResultEvidence("error flag", "true")
        return Failure(Certainty.FLAGGED, _words_of(text, code) or "empty result", code, (flag, *stated))
    if code is not None:
        return Failure(Certainty.STRUCTURED, _words_of(text, code), code, stated) if code else None
    if is_running(text) or (result.is_error is False and call is not None and has_known_effect(call)):
        return None
    line = error_line(text) if call is None else words_decide(call, structs.replace(result, content=text))
    return None if line is None else Failure(Certainty.TEXTUAL, line, None, (ResultEvidence("words", line[:200]),))


def _recorded_failure(result: ToolResult) -> Failure | None:
    """The failure that the source recorded beside the text."""
    recorded = result.recorded
    if recorded is None:
        return None
    code, state = recorded.exit_code, recorded.state
    if not code and (state is None or state in _GOOD_STATES):
        return None
    value = f"{code}" if code else f"{state}"
    evidence = ResultEvidence(recorded.field, value)
    flag = (ResultEvidence("error flag", "true"),) if result.is_error else ()
    certainty = Certainty.FLAGGED if result.is_error or not recorded.exit_code else Certainty.STRUCTURED
    text = next((layer for layer in reversed(_layers(result.content)) if isinstance(layer, str)), result.content)
    return Failure(certainty, _words_of(text, code) or value, code, (evidence, *flag))


def _is_recorded_success(result: ToolResult) -> bool:
    recorded = result.recorded
    if recorded is None or result.is_error:
        return False
    return recorded.exit_code == 0 or recorded.state in _GOOD_STATES


def _of_text(code: int) -> ResultEvidence:
    return ResultEvidence("exit code in the text", str(code))


def _words_of(text: str, code: int | None) -> str:
    """The words that report a failure that a fact states; empty if there are neither words nor a code."""
    body = unframed(text).output
    return (
        error_line(body)
        or error_line(text)
        or fault_line(body)
        or (telling_line(body) if code is not None else None)
        or (body.strip() if code is None else first_line(body).strip())
        or ("" if code is None else f"exit code {code}")
    )


def is_empty(result: ToolResult) -> bool:
    """Whether a result is empty: no text, or null, `""`, `{}` or `[]`, also within a template's wrapper."""
    if len(result.content) > _LONGEST_EMPTY:
        return False
    layers = _layers(result.content)
    if any(isinstance(layer, dict) and _succeeded(layer) for layer in layers):
        return False
    last = layers[-1].strip() if isinstance(layers[-1], str) else layers[-1]
    return last is None or last in ("", [], {})


def _layers(content: str) -> Sequence[Any]:
    """A result's text and its nested contents: the JSON in a text, the body in an envelope."""
    if _MAY_BE_JSON.match(content) is None:
        return (content,)
    return _short_layers(content) if len(content) <= _LONGEST_EMPTY else tuple(_unwrapped(content))


@lru_cache(_MOST_KEPT)  # a result is checked for an error, and later for emptiness
def _short_layers(content: str) -> Sequence[Any]:
    return tuple(_unwrapped(content))


def _unwrapped(content: str) -> Iterator[Any]:
    value: Any = content
    yield value
    for _ in range(2 * _WRAPS):
        if isinstance(value, str):
            inner = _decoded(_without_http_head(value))
            if inner is _UNREADABLE:
                return
        else:
            inner = _body(value)
            if inner is _UNREADABLE:
                return
        value = inner
        yield value


def _without_http_head(text: str) -> str:
    """The body of an answer that an HTTP client shows with its status, and perhaps its headers."""
    if not text.startswith(("HTTP/", "HTTP 2")):
        return text
    body = text.partition("\n")[2].lstrip("\n")
    return body if body[:1] in ("{", "[") else text.partition("\n\n")[2]


def _decoded(text: str) -> Any:
    if _MAY_BE_JSON.match(text) is None:
        return _UNREADABLE
    try:
        return _decode(text.encode("utf-8", "replace"))
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return _UNREADABLE


def _body(value: Any) -> Any:
    """The content of an envelope: the body field of an object, or the first text of a list of content blocks."""
    if isinstance(value, dict):
        body = value.get("body")  # of an HTTP client's answer; a message's body is no envelope
        if isinstance(body, dict) or (isinstance(body, str) and body.startswith("{")):
            return body
        return next((value[key] for key in _ENVELOPE if key in value), _UNREADABLE)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        if value[0].get("type") == "text":
            return value[0].get("text", _UNREADABLE)
        if len(value) == 1 and "message" in value[0] and not _CODES.isdisjoint(value[0]):  # Salesforce
            return value[0]
    return _UNREADABLE


def _structured(fields: Mapping[str, Any]) -> Failure | None:
    if fields.get("error") is True or fields.get("isError") is True or fields.get("is_error") is True:
        return Failure(Certainty.FLAGGED, _words(fields), None, _field_evidence(fields))
    if _names_an_error(fields) or _has_bad_code(fields) or _has_bad_status(fields) or _has_grave_issue(fields):
        return Failure(
            Certainty.STRUCTURED, _words(fields), next(filter(None, _exit_codes(fields)), None), _field_evidence(fields)
        )
    return None


def _describes_failed_thing(fields: Mapping[str, Any], call: ToolCall) -> bool:
    """Whether a lookup brought a thing that has failed, such as a build: its status, with fields of its own.

    A lookup that failed itself gives a status, a reason, and nothing that describes.
    """
    states = [fields[key] for key in _STATES if isinstance(fields.get(key), str)]
    has_failed = any(state.strip().lower() in _FAILED - {"error"} for state in states)
    if not has_failed or kind_of(call.name or "") is not ToolKind.READS or has_known_effect(call):
        return False
    return any(key not in _ERROR_WORDS and fields[key] not in (None, "") for key in fields)


_STATES = ("status", "state", "conclusion", "phase", "outcome")
_STATES_TABLE = "statut estado stato stav durum zustand статус стан 状态 状態 상태"
_ANY_STATES = (*_STATES, *_STATES_TABLE.split())
_ERROR_WORDS = frozenset(
    (*_STATES, *_ERROR_KEYS, *_WORDS, "type", "request_id", "requestId", "trace_id", "timestamp", "path")
)


def _field_evidence(fields: Mapping[str, Any]) -> tuple[ResultEvidence, ...]:
    """The fields of a result that is JSON which may state an error."""
    keys = (
        key
        for key in (*EXIT_KEYS, "isError", "is_error", "error", "errors", "success", "ok", *_HTTP_CODES)
        if key in fields
    )
    return tuple(ResultEvidence(f"result field {key}", str(fields[key])[:200]) for key in islice(keys, 2))


def _names_an_error(fields: Mapping[str, Any]) -> bool:
    values = [fields[key] for key in _ERROR_NAMES if key in fields]
    if any(isinstance(value, str) and value.strip().lower() not in _NOTHING for value in values):
        return True
    if any(count_of(fields.get(key)) for key in ("error_code", "errorCode", "errcode")):
        return True
    return any(isinstance(value, dict | list) and bool(value) for value in values)


def _has_bad_code(fields: Mapping[str, Any]) -> bool:
    if any(_exit_codes(fields)):
        return True
    codes = [(key, _status_code(fields[key])) for key in _HTTP_CODES if key in fields]
    return any(400 <= code < 600 and (not key.startswith("cod") or "message" in fields) for key, code in codes)


def _status_code(value: Any) -> int:
    return int(value) if isinstance(value, str) and _THREE_DIGITS.fullmatch(value) else count_of(value) or 0


_CODES = frozenset(("errorCode", "error_code", "errorcode"))
_THREE_DIGITS = lazy_pattern(r"[1-5]\d\d")


def _has_bad_status(fields: Mapping[str, Any]) -> bool:
    if fields.get("success") is False or fields.get("ok") is False or fields.get("succeeded") is False:
        return True
    status = fields.get("status")
    if not isinstance(status, str) or status.strip().lower() not in _FAILED:
        return False
    # A build that failed is an answer; a call that failed gives a reason, or nothing else.
    # In a language without a word for the reason in the tables, a call that failed gives few other fields.
    is_error = status.strip().lower() in _ERROR_IN_LANGUAGES | {"error"}
    return is_error or len(fields) == 1 or any(fields.get(key) for key in _WORDS)


def _denial_with_reason(fields: Mapping[str, Any], call: ToolCall) -> Failure | None:
    """Why a tool that looks at nothing did not do its work: `{"accepted": false, "reason": "voting has ended"}`."""
    kind = kind_of(call.name or "")
    if has_known_effect(call):
        return None
    is_made = kind is not ToolKind.READS or bare_name(call.name or "").partition("_")[0] in _MADE
    state = next((key for key in _STATES if _PARTIAL.fullmatch(str(fields.get(key)))), "") if is_made else ""
    if state and _words(fields):
        return Failure(
            Certainty.STRUCTURED, _words(fields), None, (ResultEvidence(f"result field {state}", str(fields[state])),)
        )
    if kind is ToolKind.READS:
        return None
    if kind is ToolKind.WRITES and (told := _nothing_done(fields)):
        return Failure(Certainty.STRUCTURED, told, None, (ResultEvidence("words", told[:200]),))
    errors = _errors_within(fields) if only_asks(call) is False else []
    if errors:
        return Failure(
            Certainty.STRUCTURED, _text_of(errors), None, (ResultEvidence("errors", _text_of(errors)[:200]),)
        )
    part = next((key for key in fields if _counts_failed(fields, key, call)), "")
    if part:
        words = _text_of(fields[part]) or f"{part}: {fields[part]}"
        return Failure(Certainty.STRUCTURED, words, None, (ResultEvidence(f"result field {part}", words[:200]),))
    if len(fields) > _MAX_DENIAL_FIELDS:
        return None
    denials = (key for key, value in fields.items() if value is False and key.endswith((*_DONE_ENDINGS, *_SUCCESSES)))
    refused = _REFUSED | (_REFUSED_CHANGE if kind is ToolKind.WRITES else frozenset())
    refused |= _NOT_OK
    refusals = (
        key for key in (*_ANY_STATES, "result") if _SPACES.sub("_", str(fields.get(key)).strip().casefold()) in refused
    )
    key = next(chain(denials, refusals), None)
    verb = bare_name(call.name or "").partition("_")[0].removesuffix("e")
    if key is None or not (_words(fields) or (fields[key] is False and key.startswith(verb))):
        return None
    evidence = ResultEvidence(f"result field {key}", str(fields[key]).lower())
    return Failure(Certainty.STRUCTURED, _words(fields) or f"{key} is false", None, (evidence,))


# Tools that make something of what they read, of which a part may be left.
_MADE = frozenset(("translate", "transcribe", "convert", "extract", "download", "scan", "load"))
_PARTIAL = lazy_pattern(r"partial(?:ly)?(?:[_ -]\w{1,20})?|incomplete", re.IGNORECASE)
_TOLD = ("message", "notice", "info", "note", "detail", "msg", "text")


def _nothing_done(fields: Mapping[str, Any]) -> str:
    """What an object says of a change that was not made, where it reads as a success; empty if it was made.

    It says that nothing was made, or that it could not be made, beside an empty member in place of the thing.
    """
    told = next((fields[key] for key in _TOLD if isinstance(fields.get(key), str)), "")[:_LONGEST]
    is_empty_handed = any(value is None for value in fields.values())
    return told if any(match["nothing"] or is_empty_handed for match in NOTHING_DONE.finditer(told)) else ""


def _errors_within(fields: Mapping[str, Any], depth: int = 3) -> list[Any]:
    """The errors that the objects in an answer to a mutation list: GraphQL's `userErrors`."""
    for key, value in fields.items():
        if isinstance(value, list) and value and key.casefold().endswith("errors"):
            return value
        if depth and isinstance(value, dict) and (errors := _errors_within(value, depth - 1)):
            return errors
    return []


def _counts_failed(fields: Mapping[str, Any], key: str, call: ToolCall) -> bool:
    """Whether a member counts or lists what a tool could not do: `"failed": 1` beside `"sent": 2`.

    A word that the call passed names what it was to work on, and what is not there need not be deleted.
    """
    name = key.casefold().replace("_", "")
    value = fields[key]
    tool = bare_name(call.name or "")
    has_done = any(other.endswith(_DONE_ENDINGS) for other in fields if other != key)
    is_list = isinstance(value, list | dict)
    has_reasons = isinstance(value, list) and (has_done or all(isinstance(item, dict) for item in value))
    is_part = name in _FAILED_PART or (is_list and key.startswith("not_")) or (has_reasons and name in _NOT_TAKEN)
    is_gone = name == "notfound" and tool.startswith(_DELETES)
    if not is_part or is_gone or name in call.raw_arguments.casefold().replace("_", ""):
        return False
    return bool(value) if is_list else has_done and kind_of(tool) is ToolKind.WRITES and (count_of(value) or 0) > 0


_FAILED_PART_TABLE = (
    "failed failedcount failurecount failedentrycount failedrecordcount unprocessed "
    "unprocesseditems bounced undelivered notsent notfound invalid faileditems"
)
_FAILED_PART = frozenset(_FAILED_PART_TABLE.split())
_NOT_TAKEN = frozenset(("failures", "problems", "rejected"))  # lists of objects that say why, or beside what was done
_DELETES = ("delete", "remove", "clean", "clear", "purge", "drop")
_MAX_DENIAL_FIELDS = 4
_DONE_ENDINGS = ("ed", "sent", "paid", "done")


def _refusal_of_service(fields: Mapping[str, Any], *, is_lookup: bool) -> Failure | None:
    """Why a web service refused, in a body that has no member for errors, but a form of its own for them.

    To a lookup only a server that could not serve it refuses: that a thing is not there is an answer.
    That of GitHub (`message` with `documentation_url`), of AWS (`__type`), of PostgREST (four members), of FastAPI for
    input that it cannot validate; or nothing but a phrase of HTTP: `{"message": "404 Project Not Found"}`.
    """
    keys = ("message", "Message", "detail", "warning") if is_lookup else ("message", "Message", "detail")
    key = next((key for key in keys if key in fields), None)
    value = fields[key] if key is not None else None
    is_form = isinstance(value, str) and (
        "documentation_url" in fields
        or str(fields.get("__type", "")).endswith(("Exception", "Error", "Fault"))
        or fields.keys() == _POSTGREST
        or (len(fields) == 1 and _HTTP_PHRASE.fullmatch(value.strip()) is not None)
    )
    is_invalid = isinstance(value, list) and len(fields) == 1 and all(map(_is_invalid_input, value))
    if not is_lookup and _names_invalid_members(value if isinstance(value, dict) and len(fields) == 1 else fields):
        words = _text_of(next(iter((value if isinstance(value, dict) else fields).values())))
        return Failure(Certainty.STRUCTURED, words, None, (ResultEvidence("words", words[:200]),))
    is_unserved = is_lookup and isinstance(value, str) and any(part in ([], None) for part in fields.values())
    is_unserved = is_unserved and _UNSERVED.search(str(value)) is not None
    if not value or not (is_form or is_invalid or is_unserved):
        return None
    words = _text_of([item["msg"] for item in value] if isinstance(value, list) else value)
    if is_lookup and _UNSERVED.search(words) is None:
        return None
    return Failure(Certainty.STRUCTURED, words, None, (ResultEvidence(f"result field {key}", words[:200]),))


def _error_page(text: str, *, is_lookup: bool) -> Failure | None:
    """The page with which a server or its proxy refuses; to a lookup only one that could not serve it."""
    page = _ERROR_PAGE.match(text[:_MAX_ERROR_PAGE_CHARS]) if len(text) <= _MAX_ERROR_PAGE_CHARS else None
    if page is None or (is_lookup and page["title"][:1] == "4"):
        return None
    return Failure(Certainty.STRUCTURED, page["title"], None, (ResultEvidence("title of the page", page["title"]),))


_MAX_ERROR_PAGE_CHARS = 2_000
_ERROR_PAGE = lazy_pattern(
    r"\s*(?:<!doctype html[^>]*>)?\s*<html[^>]*>\s*(?:<head>)?\s*(?:<meta[^>]*>\s*){0,4}"
    r"<title>\s*(?P<title>[45]\d\d (?:bad (?:request|gateway)|unauthori[sz]ed|authorization required|payment required|"
    r"forbidden|not (?:found|allowed|acceptable|implemented)|method not allowed|proxy authentication required|conflict|"
    r"gone|(?:request|gateway) time-?out|length required|precondition failed|(?:payload|(?:request )?entity|content|"
    r"(?:request-)?uri|request header or cookie) too (?:large|long)|unsupported media type|unprocessable \w+|"
    r"too many requests|internal server error|service (?:temporarily )?unavailable))\s*</title>",
    re.IGNORECASE,
)  # the reason phrases of RFC 9110 and nginx's: "500 Days of Summer" is the title of a film
_UNSERVED = lazy_pattern(
    r"not (?:loaded|available|ready|initiali[sz]ed|connected|indexed)|maintenance|offline|limit|quota|exceeded|"
    r"server error|unavailable|timed? ?out|gateway|too many",
    re.IGNORECASE,
)


def _names_invalid_members(fields: Mapping[str, Any]) -> bool:
    """Whether an object has nothing but sentences about members that were passed, as Rails and Django refuse.

    `{"name": ["has already been taken"]}`
    """
    sentences = [text for texts in fields.values() for text in (texts if isinstance(texts, list) and texts else [None])]
    return bool(sentences) and all(isinstance(text, str) and _INVALID.search(text) for text in sentences)


_INVALID = lazy_pattern(
    r"\b(?:has already been|already (?:exists|taken|in use)|(?:is|are|be) (?:required|invalid|blank|empty|null)|"
    r"required|must|not (?:a )?valid|enter a valid|(?:can't|cannot|may not|will not|does not|not) \w+|"
    r"too (?:long|short|many|large)|unique|another open)\b",
    re.IGNORECASE,
)


def _is_invalid_input(item: Any) -> bool:
    return isinstance(item, dict) and {"loc", "msg", "type"} <= item.keys()


_POSTGREST = frozenset(("code", "details", "hint", "message"))
_HTTP_PHRASE = lazy_pattern(
    r"(?:[45]\d\d[ :-]{1,3})?(?:bad request|unauthori[sz]ed|unauthenticated|forbidden|(?:[\w-]{1,40} ){0,3}not found|"
    r"not authenticated|"
    r"method not allowed|request timeout|payload too large|unprocessable (?:entity|content)|too many requests|"
    r"internal server error|bad gateway|service unavailable|gateway timeout|endpoint request timed out|"
    r"missing authentication token|authentication (?:failed|required|credentials were not provided)|bad credentials|"
    r"[\w-]{1,40}(?: \S{1,60})? already exists|(?:access|permission) denied|"
    r"invalid (?:\w+ )?(?:key|token|credentials)|no such [\w-]{1,40}: \S{1,200})[.!]?",
    re.IGNORECASE,
)


def _has_grave_issue(fields: Mapping[str, Any]) -> bool:
    """Whether a FHIR server answered with an `OperationOutcome` of an error (HL7 FHIR)."""
    issues = fields.get("issue") if fields.get("resourceType") == "OperationOutcome" else None
    grave = ("error", "fatal")
    return isinstance(issues, list) and any(isinstance(one, dict) and one.get("severity") in grave for one in issues)


def _succeeded(fields: Mapping[str, Any]) -> bool:
    if _ERROR_KEYS.isdisjoint(fields):
        return False
    return fields.get("success") is True or fields.get("ok") is True or 0 in _exit_codes(fields)


def _exit_codes(fields: Mapping[str, Any]) -> list[int | None]:
    """The exit codes that an object states itself or in its `metadata`."""
    nested = fields.get(METADATA)
    places = (fields, nested) if isinstance(nested, dict) else (fields,)
    if all(_EXIT_KEYS.isdisjoint(place) for place in places):
        return []
    return [exit_code_of(place.get(key)) for place in places for key in EXIT_KEYS]


def _words(fields: Mapping[str, Any]) -> str:
    for key in (*_WORDS, *(key for key in fields if key.endswith(("_code", "_reason", "_message")))):
        text = _text_of(fields.get(key))
        if text:
            return error_line(text) or text
    code = next(((key, fields[key]) for key in (*EXIT_KEYS, *_HTTP_CODES) if fields.get(key)), None)
    return f"{code[0]} {code[1]}" if code else ""


def _text_of(value: Any, depth: int = 4) -> str:
    """The first text in an error's value."""
    if isinstance(value, str):
        return value.strip()[:2_000]
    if depth and isinstance(value, list) and value:
        return _text_of(value[0], depth - 1)
    if depth and isinstance(value, dict):
        named = (value[key] for key in ("message", "error", "detail", "reason", "text", "type", "code") if key in value)
        told = next((text for one in named if (text := _text_of(one, depth - 1))), "")
        return told or max((text for text in value.values() if isinstance(text, str)), key=len, default="")[:2_000]
    return ""


_NO_PATTERNS = ErrorPatterns()


def steps_of(
    trace: Trace,
    pairing: Pairing,
    faults: CallFaults,
    patterns: ErrorPatterns = _NO_PATTERNS,
    known: KnownPaths | None = None,
) -> Iterator[Step]:
    """The steps of `trace`, not yet linked with each other.

    `patterns` are the user's own patterns of an error; `known` the paths that somebody named.
    """
    paths = known or KnownPaths()
    runs = BackgroundRuns()
    went_on_after = last_turn_with_words(trace)
    for number, (placed, answer) in enumerate(pairing.pairs, 1):
        acting = structs.replace(placed, call=runs.original(placed.call))
        runs.add(placed.call, answer.result if answer is not None else None)
        found = judged_result(acting, answer.result, patterns, paths) if answer is not None else None
        codes = [fault.rule.code for fault in faults.of(placed.location, trace)]
        outcome = _outcome(placed, codes, found, is_answered=answer is not None, went_on_after=went_on_after)
        yield Step(
            number,
            placed.call,
            placed.location,
            outcome,
            answer.result if answer else None,
            answer.location if answer else None,
            found.certainty if found and outcome is StepOutcome.ERROR_RESULT else None,
            error=found.words if found and found.kind is not ResultKind.PROBE else None,
            result_kind=found.kind if found else None,
            rules=(found.rule,) if found else (),
        )


def last_turn_with_words(trace: Trace) -> int:
    """The number of the last turn that is no result, 0 if there is none: the agent ignored open calls before it.

    One more than the trace has turns if the session has ended, so that nobody will answer its open calls.
    """
    if ends_unanswered(trace):
        return len(trace.turns) + 1
    return next((number for number in range(len(trace.turns), 0, -1) if _is_no_result(trace, number)), 0)


def goes_on_after(trace: Trace, step: Step) -> bool:
    """Whether a turn that is no result comes after a step's call."""
    return any(_is_no_result(trace, number) for number in range(step.location.turn + 1, len(trace.turns) + 1))


def _is_no_result(trace: Trace, number: int) -> bool:
    return trace.turns[number - 1].role is not Role.TOOL


_KIND_OUTCOMES = MappingProxyType(
    {
        ResultKind.FAILURE: StepOutcome.ERROR_RESULT,
        ResultKind.FINDING: StepOutcome.ERROR_RESULT,
        ResultKind.PROBE: StepOutcome.OK,
        ResultKind.REJECTED: StepOutcome.REJECTED,
        ResultKind.NOT_RUN: StepOutcome.NOT_RUN,
    }
)


def _outcome(
    placed: PlacedCall, codes: Sequence[str], found: Judgement | None, *, is_answered: bool, went_on_after: int
) -> StepOutcome:
    if not placed.call.valid or any(code.startswith(SYNTAX_CODES) for code in codes):
        return StepOutcome.MALFORMED
    if _UNKNOWN_TOOL in codes:
        return StepOutcome.UNKNOWN_TOOL
    if any(code.startswith(_SCHEMA) for code in codes):
        return StepOutcome.INVALID
    if found is not None:
        return _KIND_OUTCOMES[found.kind]
    if is_answered or ends_run(placed.call):
        return StepOutcome.OK
    is_lost = CALL_LOST_BY_SERVER.code in codes
    return StepOutcome.UNANSWERED if is_lost or placed.location.turn < went_on_after else StepOutcome.PENDING


def judged_result(
    placed: PlacedCall, result: ToolResult, patterns: ErrorPatterns = _NO_PATTERNS, known: KnownPaths | None = None
) -> Judgement | None:
    """What kind of result a call got; None for a success."""
    judgement = _UNDECIDED if patterns else _judged_alone(placed.call, result)
    if judgement is not _UNDECIDED:
        return judgement
    paths, turn = known or KnownPaths(), placed.location.turn
    return _judged(placed.call, result, patterns, lambda effect: paths.are_named(effect.targets, turn))


_UNDECIDED = Judgement(ResultKind.FAILURE, Certainty.TEXTUAL, "", (), VerdictRule.MISSING_TARGET)
"""Stands for the judgement of a result that depends on what was named before its call."""


@memoized
def _judged_alone(call: ToolCall, result: ToolResult) -> Judgement | None:
    """The kind of a result by itself; `_UNDECIDED` if it depends on who named a target before."""
    is_alone = True

    def is_named(_: Effect) -> bool:
        nonlocal is_alone
        is_alone = False
        return False

    judgement = _judged(call, result, _NO_PATTERNS, is_named)
    return judgement if is_alone else _UNDECIDED


def _judged(
    call: ToolCall, result: ToolResult, patterns: ErrorPatterns, is_named: Callable[[Effect], bool]
) -> Judgement | None:
    result = plain_result(result)
    if not patterns and is_plain_success(call, result):
        return None
    result = without_frame(_of_runs(call, result), call)
    failure = find_error(result, call)
    if failure is not None and failure.certainty is Certainty.TEXTUAL and repeats_argument(call, result):
        failure = None
    if failure is None and (line := hidden_finding(call, result)) is not None:
        failure = Failure(Certainty.TEXTUAL, line, None, (ResultEvidence("words", line[:200]),))
    if failure is None and (line := patterns.line_in(result.content)) is not None:
        failure = Failure(Certainty.TEXTUAL, line, None, (ResultEvidence("error pattern", line[:200]),))
    return kind_of_result(call, result, failure, is_named)


def plain_result(result: ToolResult) -> ToolResult:
    """The result as its tool wrote it and a reader sees it; the same object if it is so already.

    Without colours and carriage returns, by which words of a program would not be known, and without the reminders that
    Claude Code adds.
    """
    content = without_terminal_sequences(result.content.removeprefix("\ufeff"))
    content = content.replace("\r\n", "\n") if "\r" in content else content
    for _ in range(_MOST_REMINDERS):
        before, opener, reminder = content.rpartition("<system-reminder>")
        if not opener or not before.strip() or not reminder.rstrip().endswith("</system-reminder>"):
            break
        content = before.rstrip()
    return result if content == result.content else structs.replace(result, content=content)


def without_frame(result: ToolResult, call: ToolCall | None = None) -> ToolResult:
    """The result with the output alone as its content, and the exit code that its text states as recorded.

    What a call only shows (a file, a log) stays as it is, and so does a state that the source recorded.
    """
    framed = unframed(result.content)
    if framed.output is result.content or (call is not None and states_code_in_content(call, framed)):
        return result
    recorded = result.recorded
    if framed.exit_code is not None and (recorded is None or recorded.exit_code is None):
        state = recorded.state if recorded is not None else None
        field = f"result field {framed.field}" if framed.field else "exit code in the text"
        recorded = recorded if state in _GOOD_STATES else RecordedState(framed.exit_code, state, field)
    return structs.replace(result, content=framed.output, recorded=recorded)


@memoized
def as_read(result: ToolResult, call: ToolCall) -> ToolResult:
    """The result as a reader sees it, with the output alone; the same object if it is so already."""
    return without_frame(plain_result(result), call)


def repeats_argument(call: ToolCall, result: ToolResult) -> bool:
    """Whether a result only repeats what the call passed: the words are the agent's own, such as its answer."""
    text = result.content.strip()
    return bool(text) and any(isinstance(value, str) and value.strip() == text for _, value in leaves(call.arguments))


def _of_runs(call: ToolCall, result: ToolResult) -> ToolResult:
    """A list of what became of each argument of a call: the text of those that failed, else of all, and the state.

    Cline's `run_commands`: `[{"query": "cat x", "result": "...", "error": "exited with code 1", "success": false}]`.
    """
    if result.recorded is not None or not result.content.startswith("[{") or not isinstance(call.arguments, dict):
        return result
    runs = _decoded(result.content)
    texts = (text for value in call.arguments.values() for text in (value if isinstance(value, list) else [value]))
    asked = frozenset(text for text in texts if isinstance(text, str) and text)
    if not isinstance(runs, list) or not all(_is_run_of(run, asked) for run in runs):
        return result
    state = RunState.COMPLETED if all(run["success"] for run in runs) else RunState.FAILED
    deciding = [run for run in runs if not run["success"]] or runs
    outputs = (run.get("result") or run.get("error") for run in deciding)
    words = "\n".join(output for output in outputs if isinstance(output, str))
    recorded = RecordedState(state=state, field="result field success")
    is_error = result.is_error is True or state is RunState.FAILED
    return structs.replace(result, content=words, is_error=is_error, recorded=recorded)


def _is_run_of(run: Any, asked: frozenset[str]) -> bool:
    if not isinstance(run, dict) or not isinstance(run.get("success"), bool):
        return False
    return any(isinstance(value, str) and value in asked for value in run.values())


_SIGNS = (
    "error",
    "traceback",
    "running",
    "started",
    "background",
    "[]",
    "[ ]",
    "false",
    '"skipped"',
    '"cancel',
    "not_exec",
)
"""Case-folded substrings of what the other rules can find in a JSON object on one line."""
_MOST_REMINDERS = 8
_FEWEST_WORDS = 8  # a shorter answer of a tool that changes something may be a denial


def is_plain_success(call: ToolCall, result: ToolResult) -> bool:
    """Whether a result is surely a success, as most results of functions are: an object on one line without signs.

    The call runs no program, and has no other effect that is known by its tool's name. Then facts are only in members
    that the object lacks, no pattern begins at its brace, and no pattern within it applies. `judged_result` gives the
    same answer in seven times the time.
    """
    text = result.content
    if result.recorded is not None or result.is_error or not text.startswith('{"') or not text.endswith("}"):
        return False
    if len(text) > HEAD or not isinstance(call.arguments, dict) or call.name is None or has_known_effect(call):
        return False
    folded = text.casefold()
    if any(sign in folded for sign in _SIGNS) or len(text.splitlines()) > 1 or fails_within(text):
        return False
    if kind_of(call.name) is ToolKind.WRITES and len(text.split()) < _FEWEST_WORDS:
        return False
    value = _decoded(text)
    if not isinstance(value, dict) or not _ERROR_KEYS.isdisjoint(value) or not value.keys().isdisjoint(_ENVELOPE):
        return False
    is_lookup = kind_of(call.name) is ToolKind.READS
    return _denial_with_reason(value, call) is None and _refusal_of_service(value, is_lookup=is_lookup) is None
