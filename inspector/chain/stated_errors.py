"""What an object of JSON states about the call that it answers: an error, a refusal, work of which a part is undone.

Tools and services have no common form for that. A call failed if its answer has

* a member for errors, an exit code or a status of HTTP that is bad, a state that is (`structured`);
* one of the forms in which web services refuse (`refusal_of_service`, `error_page`);
* and of a tool that changes something, a denial with its reason or a count of what was left out (`denial`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias
from unicodedata import combining, normalize

from weaklink.inspector.chain.assertions import denies, denies_plainly
from weaklink.inspector.chain.effects import has_known_effect, only_asks
from weaklink.inspector.chain.failure_words import ERROR_WORDS, error_line
from weaklink.inspector.chain.refused_changes import NOTHING_DONE, refuses_change
from weaklink.inspector.chain.result_kinds import Failure, ResultEvidence
from weaklink.inspector.chain.shell_frames import EXIT_KEYS, METADATA, exit_code_of
from weaklink.inspector.chain.steps import Certainty
from weaklink.inspector.chain.tool_kinds import ToolKind, bare_name, kind_of
from weaklink.inspector.json_text import count_of
from weaklink.inspector.model import ToolCall
from weaklink.inspector.scanning import lazy_pattern

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
_REASONS_TABLE = (
    "grund motif raison motivo reden причина 原因 理由 nachricht mensaje mensagem messaggio сообщение 消息 pesan "
    "alasan bericht meddelelse meddelande melding orsak årsag wiadomość powód zpráva důvod mesaj sebep üzenet viesti "
    "syy μήνυμα повідомлення съобщение 메시지 メッセージ رسالة הודעה संदेश"
)
_REASONS = _also_bare(_REASONS_TABLE.split())
_SUCCESSES = ("erfolg", "succès", "succes", "exito", "éxito", "sucesso", "successo", "успех", "成功")
_WORDS = (
    *(*_ERROR_NAMES, "message", "detail", "details", "reason", "stderr", "error_message", "content", "output"),
    *_REASONS,
)
_HTTP_CODES = ("status", "status_code", "statusCode", "http_status", "code", "cod")
_SERVICE_CODES = ("code", "errno", "err_no", "ret", "retcode", "resultCode", "result_code")

_EXIT_KEYS = frozenset(EXIT_KEYS)
ERROR_KEYS = frozenset((*EXIT_KEYS, *_HTTP_CODES, *_SERVICE_CODES, "isError", "is_error", *_ERROR_NAMES, METADATA)) | {
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

_MAX_ERROR_CHARS = 400


def structured(fields: Mapping[str, Any]) -> Failure | None:
    """The failure that an object states in members for it: an error, an exit code, a status."""
    if fields.get("error") is True or fields.get("isError") is True or fields.get("is_error") is True:
        return Failure(Certainty.FLAGGED, _words(fields), None, _field_evidence(fields))
    if _names_an_error(fields) or _has_bad_code(fields) or _has_bad_status(fields) or _has_grave_issue(fields):
        return Failure(
            Certainty.STRUCTURED, _words(fields), next(filter(None, _exit_codes(fields)), None), _field_evidence(fields)
        )
    return None


def without_passed_codes(fields: Mapping[str, Any], call: ToolCall) -> Mapping[str, Any]:
    """An object without the statuses that the call itself passed under the same name: `search_pages(status=404)`."""
    passed = call.arguments if isinstance(call.arguments, dict) else {}
    codes = [key for key in _HTTP_CODES if key in passed and key in fields and str(passed[key]) == str(fields[key])]
    return {key: value for key, value in fields.items() if key not in codes} if codes else fields


def describes_failed_thing(fields: Mapping[str, Any], call: ToolCall) -> bool:
    """Whether a lookup brought a thing that has failed, such as a build: its status, with fields of its own.

    A lookup that failed itself gives a status, a reason, and nothing that describes.
    """
    states = [fields[key] for key in _STATES if isinstance(fields.get(key), str)]
    has_failed = any(state.strip().lower() in _FAILED - {"error"} for state in states)
    if not has_failed or kind_of(call.name or "") is not ToolKind.READS or has_known_effect(call):
        return False
    return any(key not in ERROR_MEMBERS and fields[key] not in (None, "") for key in fields)


_STATES = ("status", "state", "conclusion", "phase", "outcome")
_STATES_TABLE = "statut estado stato stav durum zustand статус стан 状态 状態 상태"
_ANY_STATES = (*_STATES, *_STATES_TABLE.split())
ERROR_MEMBERS = frozenset(
    (*_STATES, *ERROR_KEYS, *_WORDS, "type", "request_id", "requestId", "trace_id", "timestamp", "path")
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
    if any(_exit_codes(fields)) or _is_bad_envelope(fields):
        return True
    codes = [(key, _status_code(fields[key])) for key in _HTTP_CODES if key in fields]
    return any(400 <= code < 600 and (not key.startswith("cod") or "message" in fields) for key, code in codes)


def _is_bad_envelope(fields: Mapping[str, Any]) -> bool:
    """Whether a service's envelope has a code of its own and no data: `{"code": 5, "msg": "...", "data": null}`."""
    code = next((fields[key] for key in _SERVICE_CODES if key in fields), None)
    told = next((fields[key] for key in ("msg", "message") if key in fields), None)
    if not isinstance(code, int) or not isinstance(told, str) or code in _GOOD_CODES:
        return False
    if code == _COUNTED_AS_TRUE and not denies(told) and error_line(told) is None:
        return False
    bodies = [fields[key] for key in _BODIES if key in fields]
    return bool(bodies) and not any(bodies) and _SUCCEEDED.search(told) is None


_BODIES = ("data", "result", "content", "obj")
_GOOD_CODES = frozenset((0, *range(100, 300), 20_000))
_COUNTED_AS_TRUE = 1  # of services whose code is a truth value
_SUCCEEDED = lazy_pattern(r"\b(?:success\w*|succeeded|ok|done)\b|成功|完了|성공", re.IGNORECASE)


def _status_code(value: Any) -> int:
    return int(value) if isinstance(value, str) and _THREE_DIGITS.fullmatch(value) else count_of(value) or 0


ERROR_CODES = frozenset(("errorCode", "error_code", "errorcode"))
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


def denial(fields: Mapping[str, Any], call: ToolCall) -> Failure | None:
    """Why a tool that is to do something did not: `{"accepted": false, "reason": "voting has ended"}`; else None.

    Read in the object and in those within it. What the call passed says nothing, and neither does the state that its
    tool brings ("rejected" of `reject_claim`).
    """
    if has_known_effect(call):
        return None
    verb = bare_name(call.name or "").partition("_")[0]
    is_lookup = kind_of(call.name or "") is ToolKind.READS or only_asks(call) is True or verb in _TRIES
    if is_lookup and bare_name(call.name or "").partition("_")[0] not in _MADE:
        return None
    ways = (_partly_done,) if is_lookup else (_partly_done, _told_refusal, _error_member, _counted, _refused_state)
    is_whole = _states_done(fields, call)
    places = (
        (way, part)
        for way in ways
        if not (is_whole and way in (_told_refusal, _refused_state))
        for part in (_objects(fields) if way is not _counted else (fields,))
    )
    key, words = next((stated for way, part in places if (stated := way(part, call))), ("", ""))
    evidence = ResultEvidence(f"result field {key}", words[:200])
    return Failure(Certainty.STRUCTURED, words, None, (evidence,)) if key else None


_TRIES = ("test", "ping", "probe")  # what such a tool denies is its answer


def _states_done(fields: Mapping[str, Any], call: ToolCall) -> bool:
    """Whether an object says that its call did what it is for: `"applied": true`, `"status": "withdrawn"`."""
    verb = bare_name(call.name or "").partition("_")[0][:_STEM_CHARS]
    if any(value is True and key.endswith(_DONE_ENDINGS) for key, value in fields.items()):
        return True
    if any(key in _DONE_STATES and (count_of(value) or 0) > 0 for key, value in fields.items()):
        return True
    states = (_state(fields.get(key)) for key in _ANY_STATES)
    return any(state.startswith(verb) or state in _DONE_STATES for state in states if state)


_DONE_STATES_TABLE = (
    "created updated booked reserved sent delivered shipped paid confirmed scheduled queued saved published completed "
    "added imported inserted moved processed closed cancelled canceled withdrawn deleted removed approved accepted "
    "received succeeded running pending active"
)
_DONE_STATES = frozenset(_DONE_STATES_TABLE.split())
_Stated: TypeAlias = tuple[str, str] | None  # the member that states a failure, and the words for it
# Tools that make something of what they read, of which a part may be left.
_MADE = frozenset(("translate", "transcribe", "convert", "extract", "download", "scan", "load"))
_PARTIAL = lazy_pattern(r"partial(?:ly)?(?:[_ -]\w{1,20})?|incomplete", re.IGNORECASE)


def _objects(fields: Mapping[str, Any], depth: int = 3) -> Iterator[Mapping[str, Any]]:
    yield fields
    for value in fields.values() if depth else ():
        if isinstance(value, dict):
            yield from _objects(value, depth - 1)


def _partly_done(part: Mapping[str, Any], _: ToolCall) -> _Stated:
    key = next((key for key in _STATES if _PARTIAL.fullmatch(str(part.get(key)))), "")
    return (key, words) if key and (words := _words(part)) else None


def _error_member(part: Mapping[str, Any], call: ToolCall) -> _Stated:
    """A member that is named as an error or its reason, with something in it: `failure_reason`, GraphQL's `userErrors`.

    A thing may tell of its last error; that of what the tool does counts: `last_payment_error` of `create_payment`.
    """
    tool = bare_name(call.name or "")
    for key, value in part.items():
        name = bare_name(key)
        match = _ERROR_NAME.fullmatch(name)
        is_past = match is not None and match["past"] and not any(word in tool for word in match["past"].split("_")[1:])
        text = _text_of(value) if match is not None and not is_past and not isinstance(value, bool) else ""
        if text.casefold() not in _NOTHING and not _is_passed(text, call):
            return key, text
    return None


_ERROR_NAME = lazy_pattern(
    r"(?!(?:\w+_)?(?:on|if|after|ignore|max|allow|allowed|no|without|per|with)_)"
    r"(?P<past>(?:last|previous)(?:_\w+)??)?_?(?:\w+_)?(?:errors?|failures?|faults?)|"
    r"(?:failure|decline|rejection|refusal|denial|error)_(?:reason|code|message|details?|description)s?"
)


def _is_passed(text: str, call: ToolCall) -> bool:
    return text.casefold() in call.raw_arguments.casefold()


def _counted(part: Mapping[str, Any], call: ToolCall) -> _Stated:
    key = next((key for key in part if _counts_failed(part, key, call)), "")
    return (key, _text_of(part[key]) or f"{key}: {part[key]}") if key else None


def _refused_state(part: Mapping[str, Any], call: ToolCall) -> _Stated:
    """A state that refuses, under any name, beside a reason or an empty member in place of what was to be made."""
    verb = bare_name(call.name or "").partition("_")[0].removesuffix("e")
    is_small = len(part) <= _MAX_DENIAL_FIELDS
    is_change = kind_of(call.name or "") is ToolKind.WRITES
    for key, value in part.items():
        reason = _words(part) or _sentence_of_denial(part, call) if is_small else ""
        if value is False and is_small and key.endswith((*_DONE_ENDINGS, *_SUCCESSES)):
            reason = (reason or f"{key} is false") if key.startswith((verb, *_DONE_AT_ALL)) else _reason(part)
        elif isinstance(value, str) and _refuses(key, value, is_change=is_change) and not _is_brought(value, call):
            reason = reason or (f"{key}: {value}" if _is_empty_handed(part, call) else "")
        elif _is_unavailable(key, value) and is_small and _tells_nothing_else(part, call):
            reason = f"{key}: {value}"
        elif not (is_small and is_change and _state(value) in _REFUSED_CHANGE):
            continue
        if reason:
            return key, reason
    return None


def _is_unavailable(key: str, value: Any) -> bool:
    """Whether a member says that there is none of what a tool was to take: `"available": false`, `"in_stock": 0`."""
    return value in (False, 0) and isinstance(value, int) and _AVAILABLE.fullmatch(bare_name(key)) is not None


def _tells_nothing_else(part: Mapping[str, Any], call: ToolCall) -> bool:
    """Whether an object has only what the call passed, and members that are false, 0 or empty.

    Not of a tool that takes something away. A call that passes a 0 or a false sets it: `in_stock` of `update_product`.
    """
    passed = call.arguments if isinstance(call.arguments, dict) else {}
    is_set = any(value in (False, 0) for value in passed.values()) or bare_name(call.name or "").startswith(_TAKES_AWAY)
    return not is_set and all(not value or value in passed.values() for value in part.values())


_AVAILABLE = lazy_pattern(  # not what is left after the last was taken
    r"(?:is_|units_|quantity_)?(?:available|availability|(?:in_)?stock|vacant|bookable|orderable|eligible|possible|"
    r"allowed|verfügbar|verfuegbar|disponib\w+|dispon[ií]vel|beschikbaar|dostępn\w+|dostepn\w+|доступ\w+)"
)
_DONE_AT_ALL = ("accepted", "done", "completed", "processed", "executed", "performed")  # whatever the tool does


def _reason(part: Mapping[str, Any]) -> str:
    """The text of a member that is named as a reason or an error, not as a mere message."""
    keys = (key for key in part if key in _REASON_NAMES or bare_name(key).endswith(("_code", "_reason")))
    return next((text for key in keys if (text := _text_of(part[key]))), "")


_REASON_NAMES = frozenset(("reason", "detail", "details", *_ERROR_NAMES, *_REASONS))


def _state(value: Any) -> str:
    return _SPACES.sub("_", value.strip().casefold()) if isinstance(value, str) else ""


def _refuses(key: str, value: str, *, is_change: bool) -> bool:
    if bare_name(key).startswith(_OF_PAST) or not (is_change or key in (*_ANY_STATES, "result")):
        return False
    is_told = key in _ANY_STATES and " " in value and len(value) <= _MAX_STATE_CHARS
    return _state(value) in _REFUSED | _NOT_OK or (is_told and denies_plainly(value))


def _sentence_of_denial(part: Mapping[str, Any], call: ToolCall) -> str:
    texts = (value for key, value in part.items() if isinstance(value, str) and key not in _CONTENTS)
    return next((text for text in texts if _is_sentence(text) and not _is_passed(text, call) and denies(text)), "")


def _is_brought(state: str, call: ToolCall) -> bool:
    """Whether a state is what the tool is for, or one that the call named: `rejected` of `{"decision": "reject"}`."""
    return state.casefold()[:_STEM_CHARS] in f"{call.name} {call.raw_arguments}".casefold()


def _is_empty_handed(part: Mapping[str, Any], call: ToolCall) -> bool:
    """Whether an object has an empty member, or the number 0 that the call did not pass."""
    passed = call.arguments if isinstance(call.arguments, dict) else {}
    empty = (key for key, value in part.items() if value is None or (value == 0 and value is not False))
    return any(key not in passed for key in empty)


_OF_PAST = ("last_", "previous_", "old_", "prior_")
_CONTENTS = ("title", "name", "subject", "description", "body", "summary", "headline", "topic", "comment")
_MAX_STATE_CHARS, _STEM_CHARS = 30, 5


def _told_refusal(part: Mapping[str, Any], call: ToolCall) -> _Stated:
    """A sentence that says that a change was not made, under any name, in an object that may read as a success."""
    if kind_of(call.name or "") is not ToolKind.WRITES:
        return None
    for key, value in part.items():
        if not isinstance(value, str) or key in _CONTENTS or not _is_sentence(value) or _is_passed(value, call):
            continue
        if key in _CONTENTS and _is_changed_record(part, call):
            continue
        told = value[:_MAX_ERROR_CHARS]
        is_empty_handed = _is_empty_handed(part, call)
        if any(match["nothing"] or is_empty_handed for match in NOTHING_DONE.finditer(told)):
            return key, told
        if not _names_made_thing(part, call) and refuses_change(call, told):
            return key, told
    return None


def _is_changed_record(part: Mapping[str, Any], call: ToolCall) -> bool:
    """Whether an object has a member that the call passed, under the same name and with the same value."""
    passed = call.arguments if isinstance(call.arguments, dict) else {}
    return any(key in passed and bool(value) and passed[key] == value for key, value in part.items())


def _names_made_thing(part: Mapping[str, Any], call: ToolCall) -> bool:
    """Whether an object has an identifier that the call did not pass: of what it made (`"order": "O-77"`)."""
    numbers = (str(value) for key, value in part.items() if key.lower().endswith("id") and type(value) is int)
    texts = (value for value in part.values() if isinstance(value, str) and not _is_sentence(value))
    values = (*numbers, *texts)
    return any(not value.isalpha() and not _is_passed(value, call) for value in values)


def _is_sentence(text: str) -> bool:
    return text.count(" ") >= _MIN_BLANKS or (not text.isascii() and len(text) >= _MIN_IDEOGRAMS)


_MIN_BLANKS, _MIN_IDEOGRAMS = 2, 6


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
_TAKES_AWAY = (*_DELETES, "disable", "deactivate", "close", "block", "lock", "hide", "archive", "suspend", "stop", "un")
_MAX_DENIAL_FIELDS = 4
_DONE_ENDINGS = ("ed", "sent", "paid", "done")


def refusal_of_service(fields: Mapping[str, Any], call: ToolCall | None, *, is_lookup: bool) -> Failure | None:
    """Why a web service refused, in a body that has no member for errors, but a form of its own for them.

    To a lookup only a server that could not serve it refuses: that a thing is not there is an answer.
    That of GitHub (`message` with `documentation_url`), of AWS (`__type`), of PostgREST (four members), of FastAPI for
    input that it cannot validate; or nothing but a phrase of HTTP: `{"message": "404 Project Not Found"}`.
    """
    key = next((key for key in ("message", "Message", "detail") if key in fields), None)
    value = fields[key] if key is not None else None
    is_form = isinstance(value, str) and (
        "documentation_url" in fields
        or str(fields.get("__type", "")).endswith(("Exception", "Error", "Fault"))
        or fields.keys() == _POSTGREST
        or (len(fields) == 1 and _HTTP_PHRASE.fullmatch(value.strip()) is not None)
    )
    is_invalid = isinstance(value, list) and len(fields) == 1 and all(map(_is_invalid_input, value))
    members = value if isinstance(value, dict) and len(fields) == 1 else fields
    if not is_lookup and _names_invalid_members(members, call):
        words = _text_of(next(iter(members.values())))
        return Failure(Certainty.STRUCTURED, words, None, (ResultEvidence("words", words[:200]),))
    if is_lookup and (words := _apology_alone(fields)):
        return Failure(Certainty.STRUCTURED, words, None, (ResultEvidence("words", words[:200]),))
    if not value or not (is_form or is_invalid):
        return None
    words = _text_of([item["msg"] for item in value] if isinstance(value, list) else value)
    if is_lookup and _UNSERVED.search(words) is None:
        return None
    return Failure(Certainty.STRUCTURED, words, None, (ResultEvidence(f"result field {key}", words[:200]),))


def _apology_alone(fields: Mapping[str, Any]) -> str:
    """The message of a service that could not serve a lookup, beside nothing but empty members; else ""."""
    filled = (key for key, value in fields.items() if value not in _EMPTY and value is not True)
    told = [key for key in filled if key not in _ANY_STATES and not key.endswith(_TIMES)]
    if not any(value in ([], None) for value in fields.values()) or any(
        key.casefold().rpartition("_")[2] not in _MESSAGES for key in told
    ):
        return ""
    texts = (fields[key] for key in told if isinstance(fields[key], str) and _is_sentence(fields[key]))
    return next(filter(_UNSERVED.search, texts), "")


_EMPTY: tuple[Any, ...] = (None, "", 0, [], {})  # and False, which is 0
_TIMES = ("_ms", "took", "elapsed", "duration", "timestamp", "request_id")
_MESSAGES_TABLE = (
    "message msg detail details reason note notice hint info warning meldung hinweis avis aviso avviso melding"
)
_MESSAGES = frozenset((*_MESSAGES_TABLE.split(), *_REASONS))


def error_page(text: str, *, is_lookup: bool) -> Failure | None:
    """The page with which a server or its proxy refuses; to a lookup only one that could not serve it."""
    page = _ERROR_PAGE.match(text[:_MAX_ERROR_PAGE_CHARS]) if len(text) <= _MAX_ERROR_PAGE_CHARS else None
    if page is None or (is_lookup and page["title"][:1] == "4"):
        return None
    return Failure(Certainty.STRUCTURED, page["title"], None, (ResultEvidence("title of the page", page["title"]),))


def error_document(text: str) -> Failure | None:
    """The document of XML with which a service refuses: a fault of SOAP, an error of S3, WebDAV or OGC's services."""
    document = _ERROR_DOCUMENT.match(text[:_MAX_ERROR_PAGE_CHARS]) if text.lstrip()[:1] == "<" else None
    if document is None:
        return None
    words = _IN_TAG.search(text, document.end())
    told = words["text"].strip() if words is not None else document[0][-_STEM_CHARS:]
    return Failure(Certainty.STRUCTURED, told, None, (ResultEvidence("error document", told[:200]),))


_ERROR_DOCUMENT = lazy_pattern(
    r"""
    \s*(?:<\?xml[^>]{0,100}>\s*)?(?:
        # SOAP's fault
        <(?:\w+:)?Envelope\b[^>]*>\s*(?:
            <(?:\w+:)?Header\b[\s\S]{0,600}?
        )?<(?:\w+:)?Body\b[^>]*>\s*<(?:\w+:)?Fault\b
        # the root of the errors of other services
        | <(?:\w+:)?(?:error|fault|exception|ErrorResponse|ServiceExceptionReport|ExceptionReport)\b
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_IN_TAG = lazy_pattern(
    r"<(?:\w+:)?(?:message|faultstring|Text|ServiceException|ExceptionText|description)\b[^>]*>(?P<text>[^<]{3,400})",
    re.IGNORECASE,
)
_MAX_ERROR_PAGE_CHARS = 2_000
_ERROR_PAGE = lazy_pattern(
    r"""
    \s*(?:<!doctype[ ]html[^>]*>)?\s*<html[^>]*>\s*(?:<head>)?\s*(?:<meta[^>]*>\s*){0,4}<title>\s*(?P<title>
        # the status and its phrase
        [45]\d\d[ ](?:
            bad[ ](?:request|gateway) | unauthori[sz]ed | authorization[ ]required | payment[ ]required
            | forbidden | not[ ](?:found|allowed|acceptable|implemented) | method[ ]not[ ]allowed
            | proxy[ ]authentication[ ]required | conflict | gone | (?:request|gateway)[ ]time-?out
            | length[ ]required | precondition[ ]failed
            | (?:
                payload | (?:request[ ])?entity | content | (?:request-)?uri | request[ ]header[ ]or[ ]cookie
            )[ ]too[ ](?:large|long)
            | unsupported[ ]media[ ]type | unprocessable[ ]\w+ | too[ ]many[ ]requests
            | internal[ ]server[ ]error | service[ ](?:temporarily[ ])?unavailable
        )
    )\s*</title>
    """,
    re.IGNORECASE | re.VERBOSE,
)  # the reason phrases of RFC 9110 and nginx's: "500 Days of Summer" is the title of a film
_UNSERVED = lazy_pattern(
    r"""
    # English
    not[ ](?:loaded|available|ready|initiali[sz]ed|connected|indexed)
    | (?:under|in|for|during|due[ ]to)[ ](?:\w+[ ])?maintenance | (?<!no[ ])\b(?:is|are|currently)[ ]offline
    | (?:limit|quota)[ ](?:was[ ]|has[ ]been[ ]|is[ ])?reached | exceeded
    | (?<!not[ ])reached[ ](?:the|your)[ ][\w -]{0,40}(?:limit|quota)
    | (?:
        service | server | api | backend | index | system | database | provider | engine | search | upstream
    )[ ](?:is[ ])?(?:currently[ ])?unavailable
    | temporarily[ ]unavailable | server[ ]error | timed?[ ]?out | bad[ ]gateway | gateway[ ](?:error|time)
    | too[ ]many | try[ ]again[ ]later
    # German, French, Spanish, Portuguese, Italian, Dutch
    | nicht[ ]erreichbar | zeitüberschreitung | überlastet | (?:in|wegen|während)[ ](?:\w+[ ])?wartung
    | injoignable | indisponible | délai[ ]dépassé | no[ ]disponible | excedido | inténtel | agotado
    | indisponível | esgotado | non[ ]disponibile | non[ ]raggiungibile | onbereikbaar | niet[ ]bereikbaar
    # Slavic and other languages
    | niedostępn | przekroczon | nedostupn | недоступ | превышен | перевищен | время[ ]ожидания | otillgänglig
    | utilgjengelig | ulaşılamıyor | zaman[ ]aşımı | nem[ ]elérhető | tidak[ ]tersedia
    # Chinese, Japanese, Korean
    | 无法连接 | 超时 | 系统繁忙 | 维护 | 利用できません | 接続できません | メンテナンス | 混み合 | 점검
    | 시간[ ]초과 | 연결할[ ]수[ ]없
    """,
    re.IGNORECASE | re.VERBOSE,
)


def _names_invalid_members(fields: Mapping[str, Any], call: ToolCall | None) -> bool:
    """Whether an object has nothing but sentences about members that were passed, as Rails and Django refuse.

    `{"name": ["has already been taken"]}`; what was passed itself is no such sentence.
    """
    sentences = [text for texts in fields.values() for text in (texts if isinstance(texts, list) and texts else [None])]
    if not sentences or not all(isinstance(text, str) and _INVALID.search(text) for text in sentences):
        return False
    return call is None or not any(_is_passed(text, call) for text in sentences if text)


_INVALID = lazy_pattern(
    r"""
    \b(?:
        # Rails' and other frameworks' words for a value that is refused
        has[ ]already[ ]been | already[ ](?:exists|taken|in[ ]use)
        | (?:is|are|be)[ ](?:required|invalid|blank|empty|null) | required | must | not[ ](?:a[ ])?valid
        | enter[ ]a[ ]valid | (?:can't|cannot|may[ ]not|will[ ]not|does[ ]not|not)[ ]\w+
        | too[ ](?:long|short|many|large) | unique | another[ ]open
    )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


def _is_invalid_input(item: Any) -> bool:
    return isinstance(item, dict) and {"loc", "msg", "type"} <= item.keys()


_POSTGREST = frozenset(("code", "details", "hint", "message"))
_HTTP_PHRASE = lazy_pattern(
    r"""
    (?:[45]\d\d[ :-]{1,3})?(?:
        # the reason phrases of RFC 9110
        bad[ ]request | unauthori[sz]ed | unauthenticated | forbidden | (?:[\w-]{1,40}[ ]){0,3}not[ ]found
        | not[ ]authenticated | method[ ]not[ ]allowed | request[ ]timeout | payload[ ]too[ ]large
        | unprocessable[ ](?:entity|content) | too[ ]many[ ]requests | internal[ ]server[ ]error | bad[ ]gateway
        | service[ ]unavailable | gateway[ ]timeout
        # gateways' words, and those of APIs
        | endpoint[ ]request[ ]timed[ ]out | missing[ ]authentication[ ]token
        | authentication[ ](?:failed|required|credentials[ ]were[ ]not[ ]provided) | bad[ ]credentials
        | [\w-]{1,40}(?:[ ]\S{1,60})?[ ]already[ ]exists | (?:access|permission)[ ]denied
        | invalid[ ](?:\w+[ ])?(?:key|token|credentials) | no[ ]such[ ][\w-]{1,40}:[ ]\S{1,200}
    )[.!]?
    """,
    re.IGNORECASE | re.VERBOSE,
)


def _has_grave_issue(fields: Mapping[str, Any]) -> bool:
    """Whether a FHIR server answered with an `OperationOutcome` of an error (HL7 FHIR)."""
    issues = fields.get("issue") if fields.get("resourceType") == "OperationOutcome" else None
    grave = ("error", "fatal")
    return isinstance(issues, list) and any(
        isinstance(issue, dict) and issue.get("severity") in grave for issue in issues
    )


def states_success(fields: Mapping[str, Any]) -> bool:
    """Whether an object states that its call succeeded, in members for that."""
    if ERROR_KEYS.isdisjoint(fields):
        return False
    return fields.get("success") is True or fields.get("ok") is True or 0 in _exit_codes(fields)


def _exit_codes(fields: Mapping[str, Any]) -> list[int | None]:
    """The exit codes that an object states itself or in its `metadata`."""
    nested = fields.get(METADATA)
    places = (fields, nested) if isinstance(nested, dict) else (fields,)
    if all(_EXIT_KEYS.isdisjoint(members) for members in places):
        return []
    return [exit_code_of(members.get(key)) for members in places for key in EXIT_KEYS]


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
        told = next((text for stated in named if (text := _text_of(stated, depth - 1))), "")
        return told or max((text for text in value.values() if isinstance(text, str)), key=len, default="")[:2_000]
    return ""
