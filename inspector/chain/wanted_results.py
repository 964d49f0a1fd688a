"""Results that look like failures and are what was wanted: a content, or the message that the agent has just written.

Four things that only what stands around shows:

* a text that only words call a failure, and that a later call translates or saves as it is, is content;
* a program that the agent has just made to print an error prints it, as the user asked ("refuse negative widths with a
  message"). The result has a text that an earlier edit put between quotes, which shares a word with the user's request;
  what stands for a value in it (`{width}`, `%d`) is left out. The call tries the new code, and is a probe.

    Edit   sys.exit(f"conv: error: the width must not be negative: {width}")
    Bash   python conv.py --width -3   ->   conv: error: the width must not be negative: -3

* a fault that the user told of and asked about, which the agent reproduces and does not go on to mend. It is a finding.

    user   Customers say that `conv export` crashes on empty files. Can you confirm that?
    Bash   touch a.csv && conv export a.csv   ->   IndexError: list index out of range

* the "no" to what the user asked, or had said what to do without. It is a probe.

    user   Is there a CLAUDE.md? Otherwise go on without it.
    Read   CLAUDE.md   ->   File does not exist.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain

from msgspec import structs

from weaklink.inspector.chain.effects import (
    DATABASE_CLIENTS,
    EffectKind,
    effects_of,
    installs,
    main_effect,
    only_asks,
    runs_code,
    runs_shell,
)
from weaklink.inspector.chain.failure_words import MISSING_IN_LANGUAGES
from weaklink.inspector.chain.provenance_terms import folded_names, leaves
from weaklink.inspector.chain.steps import Certainty, ResultKind, Step, StepOutcome
from weaklink.inspector.chain.tool_kinds import ToolKind, kind_of
from weaklink.inspector.chain.verdict_rules import VerdictRule
from weaklink.inspector.memoized import memoized
from weaklink.inspector.model import Role, ToolCall, ToolResult, Trace
from weaklink.inspector.scanning import lazy_pattern

_MIN_CONTENT_CHARS = 12
_MAX_TEXT_CHARS, _MIN_MESSAGE_CHARS, _MIN_WORD_CHARS = 20_000, 10, 4
_LITERALS = tuple(lazy_pattern(rf"{quote}([^{quote}\n]{{10,200}}){quote}") for quote in "\"'`")  # one may be in another
_VALUE = lazy_pattern(r"\$?\{[^{}]{0,60}\}|%[-\d.]*[a-zA-Z]|\$\w+|\\[nt]")
_OLD_KEYS = ("old_string", "old_str", "old_text", "search", "old")


def with_wanted_results(trace: Trace, steps: Iterable[Step]) -> Iterator[Step]:
    """The steps, of which those that got what was wanted are no failures; linear in their text."""
    answered = with_answers_no(trace, with_contents(steps))
    return with_reproductions(trace, tuple(with_own_messages(trace, tuple(answered))))


def with_answers_no(trace: Trace, steps: Iterable[Step]) -> Iterator[Step]:
    """The steps; a look that did not find what the user had asked about is a probe."""
    users = _user_turns(trace)
    names = cache(lambda request: _names_asked_about(_text_of_request(trace, users, request)))
    for step in steps:
        is_result = step.result_kind is ResultKind.FAILURE or step.is_good
        if is_result and _answers_no(step, names(bisect_left(users, step.location.turn))):
            rules, kind = (VerdictRule.ASKED_WHETHER,), ResultKind.PROBE
            outcome = StepOutcome.OK
            yield structs.replace(step, outcome=outcome, certainty=None, error=None, result_kind=kind, rules=rules)
        else:
            yield step


def _answers_no(step: Step, asked: frozenset[str]) -> bool:
    """Whether a call only looks, its result says no, and the request before it asked that, with a name of the call."""
    if not asked or step.result is None or VerdictRule.PROGRAM_MISSING in step.rules:
        return False
    if not _says_no(step.call, step.result):
        return False
    names = _NAME_PARTS.findall(f"{step.call.name} {step.call.raw_arguments[:_MAX_TEXT_CHARS]}".casefold())
    return not asked.isdisjoint(names)


@memoized
def _names_asked_about(request: str) -> frozenset[str]:
    """The names in the sentences of a request that ask whether something is so, or say what to do if not."""
    sentences = (sentence.casefold() for sentence in _SENTENCE_END.split(request) if _ASKS_WHETHER.search(sentence))
    names = (
        name for sentence in sentences if not _ASKS_WHAT.search(sentence) for name in _NAME_PARTS.findall(sentence)
    )
    return frozenset(name for name in names if len(name) >= _SHORTEST_NAME) - _SAYS_NOTHING


@memoized
def _says_no(call: ToolCall, result: ToolResult) -> bool:
    """Whether a call only looks, and its short result says no."""
    text = result.content.strip()
    if len(text) > _MAX_ANSWER_CHARS:
        return False
    is_bare = _BARE_NO.fullmatch(text) is not None and kind_of(call.name or "") is not ToolKind.WRITES
    if not (is_bare or _looks(call)):
        return False
    if not text:
        return result.recorded is not None and bool(result.recorded.exit_code)
    return _SAYS_NO.search(text) is not None


def _looks(call: ToolCall) -> bool:
    """Whether a call asks or reads, or runs a line of code that does no more."""
    effects = effects_of(call)
    effect = main_effect(effects)
    if effect is None:
        return False
    if effect.command is None:
        is_lookup = kind_of(call.name or "") is ToolKind.READS or only_asks(call) is True
        return is_lookup or effect.kind in (EffectKind.READ, EffectKind.PROBE)
    is_code = len(effects) == 1 and runs_code(effect) and effect.command.program not in DATABASE_CLIENTS
    is_code = is_code and not _writes_by_code(call)
    return effect.kind in (EffectKind.READ, EffectKind.PROBE) or is_code


def _user_turns(trace: Trace) -> Sequence[int]:
    return [number for number, turn in enumerate(trace.turns, 1) if turn.role is Role.USER]


def _request_before(trace: Trace, step: Step, users: Sequence[int]) -> str:
    """The user's last turn before a step; `users` are the numbers of the user's turns."""
    return _text_of_request(trace, users, bisect_left(users, step.location.turn))


def _text_of_request(trace: Trace, users: Sequence[int], number: int) -> str:
    """The text of the user's turn with this number among their own, from 1; "" for 0."""
    parts = trace.turns[users[number - 1] - 1].parts if number else ()
    return "\n".join(part.text[:_MAX_TEXT_CHARS] for part in parts)


_MAX_ANSWER_CHARS = 600
_NAME_PARTS = lazy_pattern(r"[^\W_]+")
_BARE_NO_TABLE = r"^\W*(?:null|nil|none|false|no|0|undefined|\[\]|\{\}|\w+: ?\[\])\W*$"
_BARE_NO = lazy_pattern(_BARE_NO_TABLE, re.IGNORECASE)
_SAYS_NO = lazy_pattern(
    rf"(?:not (?:be )?found|no such|(?:does|do)(?: not|n['\u2019]t) exist|no module named|cannot find|"
    rf"connection refused|"
    rf"\b40[14]\b|{MISSING_IN_LANGUAGES})|{_BARE_NO_TABLE}|"
    r"^(?:no|kein\w*|aucun\w*|ningun\w*|nenhum\w*|nessun\w*|geen|inga?|ingen|brak|\u017e\u00e1dn\w*)\b[^\n]*$|"
    r"\"\w+\": ?false",
    re.IGNORECASE,
)
# How users ask whether something is so, or say what to do if not; the languages in the order of those below.
_ASKS_WHAT = lazy_pattern(
    r"\b(?:how (?:many|much)|what|which|wie ?viele?|welche\w*|combien|quel\w*|cu[aá]nt\w+|quant\w+|hoeveel|welke|ile|"
    r"kolik|сколько|скільки|hur många|hvor m\w+|kuinka m\w+|hány|kaç|câ[țt]i|πόσ\w+|berapa|bao nhiêu)\b|多少|几个|"
    r"いくつ|何件|몇",
    re.IGNORECASE,
)
_ASKS_WHETHER = lazy_pattern(
    r"\b(?:if (?:there|it|one|we|you|any|not|none|so|no|that)|if (?:\S+ ){1,5}(?:exists?|(?:is|are)(?: not|"
    r"n['\u2019]t)? "
    r"(?:there|installed|missing|available))|otherwise|whether|(?:is|are) there|do(?:es)? (?:\S+ ){1,8}exist|"
    r"(?<!many )(?<!much )do (?:we|i|you) (?:already |still )?have (?:an?|any|the)\b|is (?:\S+ ){1,6}(?:installed|"
    r"running|listening|available|enabled|set|there|up)|"
    r"falls|ob|sonst|andernfalls|gibt es|wenn (?:es|nicht|ja|nein|vorhanden|keine?)|existier\w+|reicht|"
    r"s['\u2019]il (?:y a|existe|n['\u2019])|sinon|y a-t-il|est-ce qu\w*|existe-t|"
    r"si (?:no )?(?:hay|existe|est\u00e1)|si no|hay alg\w+|de lo contrario|en caso contrario|"
    r"se (?:n\u00e3o )?(?:houver|existir|h\u00e1)|caso contr\u00e1rio|sen\u00e3o|existe|h\u00e1 alg\w+|"
    r"se (?:non )?(?:c['\u2019]\u00e8|ci sono|esiste)|altrimenti|c['\u2019]\u00e8|als (?:er|het|die|dat)|anders|"
    r"is er|bestaat|of er|"
    r"om (?:det|den|inte)|annars|finns|hvis|ellers|findes|finnes|er (?:der|det)|jos|muuten|onko|"
    r"czy|je[\u015bs]li|je\u017celi|w przeciwnym razie|jestli|zda|pokud|jinak|existuje|"
    r"\u0435\u0441\u0442\u044c \u043b\u0438|\u0435\u0441\u043b\u0438|\u0438\u043d\u0430\u0447\u0435|"
    r"\u0441\u0443\u0449\u0435\u0441\u0442\u0432\u0443\u0435\u0442|\u0447\u0438 \u0454|\u044f\u043a\u0449\u043e|"
    r"\u0456\u043d\u0430\u043a\u0448\u0435|"
    r"varsa|yoksa|var m\u0131|mevcut mu|ha (?:van|nincs)|van-e|k\u00fcl\u00f6nben|dac\u0103|altfel|exist\u0103|"
    r"\u03b1\u03bd|\u03b1\u03bb\u03bb\u03b9\u03ce\u03c2|\u03c5\u03c0\u03ac\u03c1\u03c7\u03b5\u03b9|apakah|jika|kalau|"
    r"n\u1ebfu)\b|"
    r"\u662f\u5426|\u6709\u6ca1\u6709|\u5982\u679c|\u5426\u5219|\u5417|\u3042\u308b\u304b|\u304b\u3069\u3046\u304b|"
    r"\u306a\u3051\u308c\u3070|\u3042\u308c\u3070|\u3042\u308a\u307e\u3059\u304b|\u3082\u3057|"
    r"\uc788\ub294\uc9c0|\uc788\uc73c\uba74|\uc5c6\uc73c\uba74|\u0647\u0644|\u0625\u0630\u0627|\u05d4\u05d0\u05dd|"
    r"\u05d0\u05dd|\u0915\u094d\u092f\u093e|\u0905\u0917\u0930|\u092f\u0926\u093f",
    re.IGNORECASE,
)


def with_reproductions(trace: Trace, steps: Sequence[Step]) -> Iterator[Step]:
    """The steps; a command that failed as the user had said is a finding, if no later step changes the work."""
    if not any(step.result_kind is ResultKind.FAILURE for step in steps):
        yield from steps
        return
    changes = (step.number for step in reversed(steps) if step.is_good and _changes(step.call))
    last_change, users = next(changes, 0), _user_turns(trace)
    for step in steps:
        if step.result_kind is ResultKind.FAILURE and step.number > last_change and _reproduces(trace, step, users):
            yield structs.replace(step, result_kind=ResultKind.FINDING, rules=(VerdictRule.REPRODUCED,))
        else:
            yield step


def _changes(call: ToolCall) -> bool:
    """Whether a call changes the work: it edits a file, installs something, or brings another state of the code."""
    effects = effects_of(call)
    if any(installs(effect) or effect.subject in _BRINGS_CODE for effect in effects):
        return True
    effect = main_effect(effects)
    if effect is None or effect.kind is not EffectKind.WRITE:
        return False
    kept = [target for target in effect.targets if not (target.startswith(_TEMPORARY) or target.endswith(_NOTES))]
    return bool(kept) or not effect.targets


_BRINGS_CODE = frozenset(("git apply", "git checkout", "git revert", "git merge", "git pull", "git stash", "git reset"))


def _reproduces(trace: Trace, step: Step, users: Sequence[int]) -> bool:
    """Whether the user's last turn before a command asks, and has a sentence that names it and says that it fails.

    What the machine lacks is another fault than the one that was told.
    """
    effect = main_effect(effects_of(step.call))
    if effect is None or effect.command is None or effect.kind is not EffectKind.RUN or installs(effect):
        return False
    if _LACKS.search(step.error or "") is not None:
        return False
    text = _request_before(trace, step, users)
    if _INQUIRES.search(text) is None:
        return False
    line = frozenset(folded_names(step.call.raw_arguments[:_MAX_TEXT_CHARS])) - _SAYS_NOTHING
    told = (frozenset(folded_names(sentence)) for sentence in _SENTENCE_END.split(text) if _FAILS.search(sentence))
    return any(len(name) >= _SHORTEST_NAME for names in told for name in names & line)


_LACKS = lazy_pattern(
    r"not found|no module named|no such file|not installed|permission denied|cannot find|forbidden", re.IGNORECASE
)
_SENTENCE_END = lazy_pattern(r"[.!?;]\s|[\n\u3002\uff01\uff1f]")
_TEMPORARY, _NOTES = ("/tmp/", "/var/tmp/"), (".md", ".txt")
_SHORTEST_NAME = 3
_SAYS_NOTHING_TABLE = (
    "command cmd python python3 node bash the and for with run test tests make npm npx uv sudo workdir"
)
_SAYS_NOTHING = frozenset(_SAYS_NOTHING_TABLE.split())
# How users say in the present that something does not work, and how they ask about it, language by language: English,
# German, French, Spanish and Portuguese, Italian, Dutch, the Nordic ones, Polish and Czech, Russian and Ukrainian,
# Turkish, Hungarian, Romanian, Greek, Indonesian and Vietnamese; then those without blanks or of other scripts.
_FAILS = lazy_pattern(
    r"\b(?:fails?|failing|crash\w*|breaks?|broken|hangs?|dies|errors out|segfaults|"
    r"panics?|stuck|(?:does|do)(?: not|n['\u2019]t) work|not working|"
    r"scheiter\w*|abstürz\w*|stürzt|kaputt|hängt|bricht|(?:funktioniert|geht|klappt) nicht|"
    r"plant\w*|échou\w*|ne (?:marche|fonctionne) (?:pas|plus)|"
    r"falla\w*|rompe|no funciona|cuelga|falha\w*|quebra\w*|não funciona|trava|"
    r"fallis\w*|non (?:funziona|va)|si blocca|faalt|mislukt|werkt niet|loopt vast|"
    r"kraschar|krasjer|fungerar inte|fejler|feiler|virker ikke|nedbrud|kaatu\w*|ei toimi|epäonnistu\w*|"
    r"nie działa|pada|wywala|nefunguje|padá|selh\w*|"
    r"пада\w*|не работ\w*|не працю\w*|слом\w*|вылет\w*|"
    r"çök\w*|çalışmıyor|bozuk|nem működ\w*|összeoml\w*|nu (?:merge|funcționează)|"
    r"αποτυγ\w*|δεν λειτουργ\w*|gagal|tidak berfungsi|rusak|hỏng|không chạy)\b|"
    r"失败|报错|崩溃|出错|失敗|落ち|クラッシュ|動かない|動きません|실패|"
    r"작동하지|فشل|يفشل|נכשל|קורס|विफल|ব্যর্থ|ล้มเหลว|خطا",
    re.IGNORECASE,
)
_INQUIRES = lazy_pattern(
    r"\b(?:confirm\w*|reproduc\w*|repro|why|verif\w*|check|find out|investigat\w*|look into|debug|"
    r"diagnos\w*|bestätig\w*|prüf\w*|warum|wieso|ursache|nachstell\w*|untersuch\w*|vérifi\w*|pourquoi|"
    r"comprueba|compruebe|por qué|averigu\w*|verifi\w*|conferm\w*|perché|controll\w*|"
    r"klopt|bevestig\w*|waarom|oorzaak|onderzoek|bekräfta|varför|kolla|undersök|bekræft|hvorfor|tjek|sjekk|undersøg|"
    r"vahvista|miksi|tarkista|selvitä|potwierd\w*|sprawd\w*|dlaczego|potvr\w*|proč|ověř\w*|zjisti\w*|"
    r"подтвер\w*|провер\w*|почему|причин\w*|підтвер\w*|перевір\w*|чому|"
    r"doğrula\w*|neden|araştır\w*|erősíts\w*|miért|ellenőriz\w*|confirmă|de ce|verifică|"
    r"επιβεβαι\w*|γιατί|έλεγ\w*|konfirmasi|kenapa|mengapa|periksa|selidiki|xác nhận|tại sao|kiểm tra)\b|"
    r"确认|为什么|检查|原因|复现|確認|なぜ|調べ|再現|확인|왜|원인|조사|أكد|تأكد|لماذا|"
    r"אשר|למה|בדוק|पुष्टि|क्यों|নিশ্চিত|ยืนยัน|ทำไม|تایید|چرا",
    re.IGNORECASE,
)


def with_own_messages(trace: Trace, steps: Sequence[Step]) -> Iterator[Step]:
    """The steps; a command that printed the message which the agent had just written is a probe."""
    if not any(step.result_kind is ResultKind.FAILURE for step in steps):
        yield from steps
        return
    asked = _words_of_user(trace)
    written: list[Sequence[str]] = []
    for step in steps:
        if step.result_kind is ResultKind.FAILURE and _prints(step, written):
            rules = (VerdictRule.OWN_MESSAGE,)
            kind, outcome = ResultKind.PROBE, StepOutcome.OK
            yield structs.replace(step, outcome=outcome, certainty=None, error=None, result_kind=kind, rules=rules)
            continue
        if step.is_good:
            written += _messages(step.call, asked)
        yield step


def _prints(step: Step, written: Sequence[Sequence[str]]) -> bool:
    """Whether the result of a command has all of the pieces of one of these messages."""
    if not written or step.result is None or not runs_shell(step.call):
        return False
    text = step.result.content[:_MAX_TEXT_CHARS].casefold()
    return any(all(piece in text for piece in pieces) for pieces in written)


@memoized
def _messages(call: ToolCall, asked: frozenset[str]) -> tuple[Sequence[str], ...]:
    """The quoted texts of several words that an edit brings, if they share a word with what the user asked for.

    Of each the pieces between its values.
    """
    effect = main_effect(effects_of(call))
    writes = effect is not None and (effect.kind is EffectKind.WRITE or _writes_by_code(call))
    if not writes or not isinstance(call.arguments, dict):
        return ()
    texts = [(key, text[:_MAX_TEXT_CHARS]) for key, text in leaves(call.arguments) if isinstance(text, str)]
    old = "\n".join(text for key, text in texts if key in _OLD_KEYS)
    messages: list[Sequence[str]] = []
    for _, text in texts:
        for message in chain.from_iterable(literal.findall(text) for literal in _LITERALS):
            words = frozenset(word for word in folded_names(message) if len(word) >= _MIN_WORD_CHARS)
            is_asked = " " in message.strip() and message not in old and not words.isdisjoint(asked)
            if is_asked and (pieces := _pieces(message)):
                messages.append(pieces)
    return tuple(messages)


def _writes_by_code(call: ToolCall) -> bool:
    """Whether a line passes code to an interpreter that writes a file."""
    return runs_shell(call) and _WRITING_CODE.search(call.raw_arguments[:_MAX_TEXT_CHARS]) is not None


_WRITING_CODE = lazy_pattern(r"\.write\(|\bwrite_text\(|\bwriteFile(?:Sync)?\(")


def _pieces(message: str) -> list[str]:
    """The parts of a message between its values, in lower case, but the shortest."""
    pieces = (piece.strip().casefold() for piece in _VALUE.split(message))
    return [piece for piece in pieces if len(piece) >= _MIN_MESSAGE_CHARS]


def _words_of_user(trace: Trace) -> frozenset[str]:
    texts = (part.text for turn in trace.turns if turn.role is Role.USER for part in turn.parts)
    return _long_words("\n".join(text[:_MAX_TEXT_CHARS] for text in texts))


@memoized
def _long_words(text: str) -> frozenset[str]:
    return frozenset(word for word in folded_names(text) if len(word) >= _MIN_WORD_CHARS)


def with_contents(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps; one that only words call a failure is none if a later call translates or saves its result as it is.

    Then the words are the content that was wanted: a file that tells of an error, in any language.
    """
    all_steps = tuple(steps)
    if not any(step.certainty is Certainty.TEXTUAL for step in all_steps):
        yield from all_steps
        return
    contents: dict[str, int] = {}
    for step in all_steps:
        effect = main_effect(effects_of(step.call))
        if effect is not None and effect.command is None and effect.kind in (EffectKind.READ, EffectKind.WRITE):
            values = (value.strip() for _, value in leaves(step.call.arguments) if isinstance(value, str))
            contents.update(dict.fromkeys((value for value in values if len(value) >= _MIN_CONTENT_CHARS), step.number))
    for step in all_steps:
        text = step.result.content.strip() if step.result is not None and step.certainty is Certainty.TEXTUAL else ""
        if contents.get(text, 0) > step.number:
            yield structs.replace(step, outcome=StepOutcome.OK, certainty=None, error=None, result_kind=None, rules=())
        else:
            yield step
