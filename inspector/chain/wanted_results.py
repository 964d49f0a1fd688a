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

* the "no" to whether the target of a call exists, which the user asked, or had said what to do without. It is a probe;
  a call that could not look (401, a refused connection) has not answered, and neither has one about a property.

    user   Is there a CLAUDE.md? Otherwise go on without it.
    Read   CLAUDE.md   ->   File does not exist.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain

from msgspec import Struct, structs

from weaklink.inspector.chain.assertions import denies_plainly
from weaklink.inspector.chain.effects import (
    DATABASE_CLIENTS,
    EffectKind,
    effects_of,
    installs,
    main_effect,
    may_be_silent,
    only_asks,
    runs_code,
    runs_shell,
)
from weaklink.inspector.chain.failure_words import MISSING_IN_LANGUAGES
from weaklink.inspector.chain.provenance_terms import folded_names, leaves
from weaklink.inspector.chain.reader_messages import shows_content
from weaklink.inspector.chain.steps import Certainty, ResultKind, Step, StepOutcome
from weaklink.inspector.chain.tool_kinds import ToolKind, bare_name, is_interpreter, kind_of
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
    asked = cache(lambda request: _asked(_text_of_request(trace, users, request)))
    for step in steps:
        is_result = step.result_kind is ResultKind.FAILURE or step.is_good
        if is_result and _answers_no(step, asked(bisect_left(users, step.location.turn))):
            rules, kind = (VerdictRule.ASKED_WHETHER,), ResultKind.PROBE
            outcome = StepOutcome.OK
            yield structs.replace(step, outcome=outcome, certainty=None, error=None, result_kind=kind, rules=rules)
        else:
            yield step


class _Asked(Struct, frozen=True):
    """What a request asks: the names of what may not exist; is it a yes or no; is a thing up."""

    names: frozenset[str]
    in_question: frozenset[str]  # all names and numbers of the questions whether something exists
    is_yes_or_no: bool
    is_up: bool


@memoized
def _asked(request: str) -> _Asked:
    before_marks = _QUESTION_MARK.split(request)[:-1]
    sentences = (f"{_SENTENCE_END.split(text)[-1][-_MAX_QUESTION_CHARS:]}?" for text in before_marks)
    questions = [sentence for sentence in sentences if _YES_OR_NO.search(sentence)]
    of_existence = (sentence.casefold() for sentence in questions if _TELLS_EXISTENCE.search(sentence))
    named = frozenset(name.strip(".-") for sentence in of_existence for name in _NAMES.findall(sentence))
    return _Asked(_names_asked_about(request), named, bool(questions), any(map(_IS_UP.search, questions)))


def _answers_no(step: Step, asked: _Asked) -> bool:
    """Whether a call only looks, its result says no, and the request before it asked about its target.

    To a question of the user for a yes or no, a bare "no" or a silent exit code is the answer, whatever it names.
    """
    if not (asked.names or asked.is_yes_or_no) or step.result is None or VerdictRule.PROGRAM_MISSING in step.rules:
        return False
    denies = _denies_shortly if step.is_good else _ends_silently
    if asked.is_yes_or_no and denies(step.call, step.result, asked):
        return True
    if not (asked.names or asked.in_question) or not _says_no(step.call, step.result):
        return False
    if not asked.in_question.isdisjoint(_passed(step.call)):
        return True
    named = set(_names_in(step.call.raw_arguments[:_MAX_TEXT_CHARS].casefold()))
    compounds = [name for name in named if _FILE_ENDING.search(name) is None]  # a file of orders is no order
    named.update(part for name in compounds for part in _JOINTS.split(name) if len(part) > _MIN_NAME_CHARS)
    return not asked.names.isdisjoint(named | set(bare_name(step.call.name or "").split("_")) - _LOOKING)


def _passed(call: ToolCall) -> Iterator[str]:
    """The numbers and names that a call looks up, each the whole of an argument or of a target."""
    effect = main_effect(effects_of(call))
    yield from (target.casefold() for target in (effect.targets if effect is not None else ()))
    if effect is None or effect.command is None:
        yield from (str(value).casefold() for _, value in leaves(call.arguments) if not isinstance(value, bool))


def _ends_silently(call: ToolCall, result: ToolResult, asked: _Asked) -> bool:
    """Whether a call only looks, and ends with an exit code and nothing else; a file that was not read says no "no"."""
    effect = main_effect(effects_of(call))
    if effect is not None and effect.kind is EffectKind.READ and effect.subject != "curl":
        return False
    code = result.recorded.exit_code if result.recorded is not None else None
    is_no = code is not None and (0 < code <= _MAX_NO or (asked.is_up and code == _CURL_REFUSED))
    return is_no and not result.content[:_MAX_ANSWER_CHARS].strip() and _looks(call)


def _shows(call: ToolCall) -> bool:
    """Whether a call runs a command, or a tool that shows what is kept somewhere: its line is content."""
    effect = main_effect(effects_of(call))
    return effect is None or effect.command is not None or shows_content(effect, call.name or "")


def _denies_shortly(call: ToolCall, result: ToolResult, _: _Asked) -> bool:
    """Whether a look succeeds with nothing, a bare "no", a false member, or one line that denies."""
    text = result.content[:_MAX_ANSWER_CHARS].strip()
    if not text:
        effects = effects_of(call)
        is_empty = bool(effects) and effects[-1].command is not None and not may_be_silent(call)
    else:
        is_line = len(text) <= _MAX_LINE_CHARS and "\n" not in text and text[0] not in "{[<"
        is_empty = _BARE_FALSE.fullmatch(text) is not None or _ONE_FALSE.fullmatch(text) is not None
        is_empty = is_empty or (is_line and not _shows(call) and denies_plainly(text))
    return is_empty and _looks(call)


@memoized
def _names_asked_about(request: str) -> frozenset[str]:
    """What a request asks the existence of, or says what to do without; not what has a property to be looked up."""
    names: set[str] = set()
    for sentence in map(str.casefold, _SENTENCE_END.split(request)):
        for match in _IS_THERE.finditer(sentence):
            names.update(_names_in(_PLACED.split(match["thing"], 1)[0]))
        existing = _EXISTS.finditer(sentence) if _TELLS_EXISTENCE.search(sentence) else ()
        for match in chain(existing, _WHETHER.finditer(sentence)):
            names.update(_names_in(" ".join(filter(None, match.groups()))))
        if (condition := _IF_ANY.search(sentence)) is not None:
            names.update(_names_in(sentence[max(condition.start() - _MAX_LINE_CHARS, 0) : condition.start()]))
    return frozenset(names) - _SAYS_NOTHING


def _names_in(text: str) -> Iterator[str]:
    """The names in a text, of paths their parts; a file with its ending."""
    names = (name.strip(".-") for name in _NAMES.findall(text))
    return (name for name in names if len(name) >= _MIN_NAME_CHARS)


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
    if is_interpreter(bare_name(call.name or "")):
        return _WRITING_CODE.search(call.raw_arguments[:_MAX_TEXT_CHARS]) is None
    if effect.command is None:
        is_lookup = kind_of(call.name or "") is ToolKind.READS or only_asks(call) is True
        return is_lookup or effect.kind in (EffectKind.READ, EffectKind.PROBE)
    is_code = len(effects) == 1 and runs_code(effect) and effect.command.program not in DATABASE_CLIENTS
    is_code = is_code and not _writes_by_code(call)
    return effect.kind in (EffectKind.READ, EffectKind.PROBE) or is_code


def _user_turns(trace: Trace) -> Sequence[int]:
    return [number for number, turn in enumerate(trace.turns, 1) if turn.role is Role.USER]


def _text_of_request(trace: Trace, users: Sequence[int], number: int) -> str:
    """The text of the user's turn with this number among their own, from 1; "" for 0."""
    parts = trace.turns[users[number - 1] - 1].parts if number else ()
    return "\n".join(part.text[:_MAX_TEXT_CHARS] for part in parts)


_MAX_ANSWER_CHARS = 600
_MAX_NO, _CURL_REFUSED, _MAX_LINE_CHARS = 3, 7, 120
_JOINTS = lazy_pattern(r"[_.-]+")
_FILE_ENDING = lazy_pattern(r"\.\w{1,5}$")
_LOOKING = frozenset(("get", "find", "search", "list", "look", "lookup", "read", "query", "check", "file", "contents"))
_MAX_QUESTION_CHARS = 200
_QUESTION_MARK = lazy_pattern(r"[?\uff1f]|(?:(?<=ますか)|(?<=ですか))(?=[\u3002\s]|\Z)")
# Questions for a yes or no: they begin with the verb, have a word for it, or, in some languages, an ending.
_YES_OR_NO = lazy_pattern(
    r"""
    ^\W*(?:(?:and|then|now|first|also|und|et|y|e)[ ])?(?:
        # English, German, French, Spanish, ...
        is | are | any | was | were | do | does | did | has | have | had
        | (?:can|could|will|would)(?![ ](?:you|we)\b) | ist | sind | gibt | hat | haben | kann
        | können(?![ ]sie\b) | läuft | laufen | war | wurde | existiert | funktioniert | geht | est-ce
        | y[ ]a-t-il | \w+-t-(?:il|elle|on) | est-(?:il|elle) | peut-on | está | están | es | son | hay | existe
        | tiene | funciona | há | tem | é | c['’]è | è | esiste | può | zijn | heeft | bestaat | draait | werkt
        | är | finns | har | er | findes | finnes | virker | kjører | fungerar | onko | czy | je | existuje
        | běží | есть | можно | van | apakah
    )\b
    # a word or an ending that makes a question: Russian, Turkish, Chinese, Japanese, Korean
    | \bли\b | \bm[ıiuü](?:y\w+|dır)?\?$ | 吗 | 是否 | 有没有 | (?:です|ます|ました)か | (?:나요|습니까)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_IS_UP = lazy_pattern(
    r"""
    \b(?:
        # English
        free | in[ ]use | open
        # other languages
        | frei | libre | liber[ao] | up | running | listening | reachable | alive | online | there | erreichbar
        | läuft | hört | lauscht | joignable | tourne | activo | corriendo | funcionando | attivo | bereikbaar
        | draait | igång | kører | kjører | działa | běží | работает | запущен\w* | çalışıyor
    )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_BARE_FALSE = lazy_pattern(r"(?:false|no|none|null|nil|\(nil\)|(?:\(integer\) )?0|\[\]|\{\})\W*", re.IGNORECASE)
_ONE_FALSE = lazy_pattern(r"\{(?:(?!true)[^{}]){0,200}\"\w{1,40}\"\s*:\s*false\b(?:(?!true)[^{}]){0,200}\}")
_NAMES = lazy_pattern(r"[a-z0-9_.@-]+|[^\W\d_a-z]+")
_BARE_NO_TABLE = r"^\W*(?:null|nil|none|false|no|0|undefined|\[\]|\{\}|\w+: ?\[\])\W*$"
_BARE_NO = lazy_pattern(_BARE_NO_TABLE, re.IGNORECASE)
_SAYS_NO = lazy_pattern(
    rf"(?:not[ _](?:be )?found|no such|(?:does|do)(?: not|n['\u2019]t) exist|no module named|cannot find|"
    rf"\b404\b|{MISSING_IN_LANGUAGES})|{_BARE_NO_TABLE}|"
    r"^(?:no|kein\w*|aucun\w*|ningun\w*|nenhum\w*|nessun\w*|geen|inga?|ingen|brak|\u017e\u00e1dn\w*)\b[^\n]*$|"
    r"\"\w+\": ?false",
    re.IGNORECASE,
)
# How users ask whether something exists, or say what to do if not: with the thing behind the words, or before them.
# English, German, French, Spanish and Portuguese, Italian, Dutch, the Nordic languages, Polish and Czech, Russian and
# Ukrainian, Hungarian, Romanian, Greek, Indonesian, Finnish; then Chinese.
_IS_THERE = lazy_pattern(
    r"""
    (?:
        \b(?:
            # "is there", "if there are": English, German, French, Spanish, ...
            (?:if|whether)[ ]there(?:[ ]is|['’]s|[ ]are) | (?<!\w[ ])(?:is|are)[ ]there(?:[ ]already)?
            | (?<!\w[ ])do[ ](?:we|i|you)[ ](?:already[ ])?have | gibt[ ]es | (?:ob|falls|wenn)[ ]es
            | haben[ ]wir | s['’]il[ ]y[ ]a | y[ ]a-t-il | existe-t-\w+ | si[ ](?:no[ ])?hay | ¿hay
            | se[ ]houver | se[ ]há | c['’]è | ci[ ]sono | is[ ]er | als[ ]er | of[ ]er | finns[ ]det
            | om[ ]det[ ]finns | hvis[ ]det[ ]finn?es | finnes[ ]det | findes[ ]der | czy[ ](?:jest|istnieje)
            | jeśli[ ]jest | zda[ ](?:je|existuje) | есть[ ]ли | если[ ]есть | чи[ ]є | якщо[ ]є | van-e
            | ha[ ]van | dacă[ ]există | αν[ ]υπάρχει | (?:apakah|jika|kalau)[ ]ada | onko | jos[ ]on
        )\b
        # Spanish, Portuguese, Italian, Chinese
        | (?:^\W*|\b(?:si|se)[ ])(?:existe|esiste)\b | 有没有 | 是否有 | 如果有
    )(?P<thing>(?:\s*[^\s,;!?]+){1,5})
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PLACED = lazy_pattern(
    r"\s(?:in|im|en|dans|no|na|nel\w*|w|v|ve|в|у|i|of|von|de|di|da|van|for|für|with|and|und|et|y|e)\s"
)
_EXISTENCE = (
    r"(?:\b(?:(?:does not |do not |doesn['’]t )?exists?|"
    r"(?:is |are )(?:not )?(?:there|installed|available|present|missing)|"
    r"installed|present|existier\w+|vorhanden|installiert|existe|présente?|esiste|bestaat|finns|findes|finnes|"
    r"istnieje|existuje|существует|есть|існує|varsa|yoksa|var mı|mevcut)\b|"
    r"存在|[がは]あ(?:[るれ]|りますか)|がなけれ|[이가] ?[있없])"
)
_TELLS_EXISTENCE = lazy_pattern(_EXISTENCE, re.IGNORECASE)  # in a tenth of the time in which the thing is found, too
_EXISTS = lazy_pattern(
    r"(?P<thing>[^\s,]{1,60}?)[`'\",]{0,3}\s{0,3}(?:\b(?:if|whether|it|they|falls|wenn|ob|sie|er|es|si|s['’]il|s['’]\w+|se|als|"
    r"het|om|den|det|если|он|она|jeśli|pokud|already|schon|bereits|déjà|ya|já|già|al|redan|уже) ){0,3}" + _EXISTENCE,
    re.IGNORECASE,
)

# "whether a customer with this address is already in the CRM"; "get CODEOWNERS from the repository if it has one".
_WHETHER = lazy_pattern(
    r"""
    \b(?:whether|if|ob|si|se|of|om|czy|zda|jestli|если|чи)[ ](?P<thing>[^,.;!?\n]{1,80}?)[ ](?:
        # "whether it exists": English, German, French, Spanish, ...
        already | exists? | schon | bereits | existiert | déjà | existe | ya | já | già | esiste | al | bestaat
        | redan | finns | allerede | finnes | findes | już | istnieje | už | existuje | уже | вже
    )\b(?P<where>(?:[ ](?:in|im|dans|en|no|na|nel|w|v|в|у|i)[ ](?:\w+[ ])?[\w.-]+)?)
    """,
    re.VERBOSE,
)
_IF_ANY = lazy_pattern(
    r"""
    (?:
        # English
        if[ ](?:it|they|we|you|there|he|she)[ ](?:has|have|is|are)[ ](?:one|any|none)\b | if[ ]any\b
        # German, French, Spanish, Portuguese, Italian, Dutch, Swedish, Norwegian
        | (?:falls|wenn)[ ](?:es[ ]|er[ ]|sie[ ])?(?:eine?n?|welche)[ ](?:hat|haben|gibt) | falls[ ]vorhanden
        | s['’]il[ ]y[ ]en[ ]a | si[ ](?:existe|lo[ ]hay|la[ ]hay|tiene) | se[ ]houver | se[ ]existir
        | se[ ]c['’]è | se[ ]esiste | als[ ]die[ ]er[ ]is | om[ ]det[ ]finns | hvis[ ]det[ ]finnes
    )
    """,
    re.VERBOSE,
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

    The name of the error says so by itself: "Confirm that parse('') raises ValueError".

    What the machine lacks is another fault than the one that was told.
    """
    effect = main_effect(effects_of(step.call))
    if effect is None or effect.command is None or effect.kind is not EffectKind.RUN or installs(effect):
        return False
    if _LACKS.search(step.error or "") is not None:
        return False
    text = _text_of_request(trace, users, bisect_left(users, step.location.turn))
    if _INQUIRES.search(text) is None:
        return False
    raised = _EXCEPTION.search((step.error or "")[:_MAX_ANSWER_CHARS])
    if raised is not None and raised[0] in text:
        return True
    line = frozenset(folded_names(step.call.raw_arguments[:_MAX_TEXT_CHARS])) - _SAYS_NOTHING
    told = (frozenset(folded_names(sentence)) for sentence in _SENTENCE_END.split(text) if _FAILS.search(sentence))
    return any(len(name) >= _MIN_NAME_CHARS for names in told for name in names & line)


_EXCEPTION = lazy_pattern(r"\b[A-Z]\w{1,60}(?:Error|Exception)\b")
_LACKS = lazy_pattern(
    r"not found|no module named|no such file|not installed|permission denied|cannot find|forbidden", re.IGNORECASE
)
_SENTENCE_END = lazy_pattern(r"[.!?;]\s|[\n\u3002\uff01\uff1f]")
_TEMPORARY, _NOTES = ("/tmp/", "/var/tmp/"), (".md", ".txt")
_MIN_NAME_CHARS = 3
_SAYS_NOTHING_TABLE = (
    "command cmd python python3 node bash the and for with run test tests make npm npx uv sudo workdir"
)
_SAYS_NOTHING = frozenset(_SAYS_NOTHING_TABLE.split())
# How users say in the present that something does not work, and how they ask about it, language by language: English,
# German, French, Spanish and Portuguese, Italian, Dutch, the Nordic ones, Polish and Czech, Russian and Ukrainian,
# Turkish, Hungarian, Romanian, Greek, Indonesian and Vietnamese; then those without blanks or of other scripts.
_FAILS = lazy_pattern(
    r"""
    \b(?:
        # English
        fails? | failing | crash\w* | breaks? | broken | hangs? | dies | errors[ ]out | segfaults | panics?
        | stuck | (?:does|do)(?:[ ]not|n['\u2019]t)[ ]work | not[ ]working
        # German, French, Spanish, Portuguese, Italian, Dutch
        | scheiter\w* | abstürz\w* | stürzt | kaputt | hängt | bricht | (?:funktioniert|geht|klappt)[ ]nicht
        | plant\w* | échou\w* | ne[ ](?:marche|fonctionne)[ ](?:pas|plus) | falla\w* | rompe | no[ ]funciona
        | cuelga | falha\w* | quebra\w* | não[ ]funciona | trava | fallis\w* | non[ ](?:funziona|va)
        | si[ ]blocca | faalt | mislukt | werkt[ ]niet | loopt[ ]vast
        # the Scandinavian languages, Finnish
        | kraschar | krasjer | fungerar[ ]inte | fejler | feiler | virker[ ]ikke | nedbrud | kaatu\w*
        | ei[ ]toimi | epäonnistu\w*
        # Slavic languages
        | nie[ ]działa | pada | wywala | nefunguje | padá | selh\w* | пада\w* | не[ ]работ\w* | не[ ]працю\w*
        | слом\w* | вылет\w*
        # Turkish, Hungarian, Romanian, Greek, Indonesian, Vietnamese
        | çök\w* | çalışmıyor | bozuk | nem[ ]működ\w* | összeoml\w* | nu[ ](?:merge|funcționează) | αποτυγ\w*
        | δεν[ ]λειτουργ\w* | gagal | tidak[ ]berfungsi | rusak | hỏng | không[ ]chạy
    )\b
    # languages without spaces or with other letters
    | 失败 | 报错 | 崩溃 | 出错 | 失敗 | 落ち | クラッシュ | 動かない | 動きません | 실패 | 작동하지 | فشل
    | يفشل | נכשל | קורס | विफल | ব্যর্থ | ล้มเหลว | خطا
    """,
    re.IGNORECASE | re.VERBOSE,
)
_INQUIRES = lazy_pattern(
    r"""
    \b(?:
        # English
        confirm\w* | reproduc\w* | repro | why | verif\w* | check | find[ ]out | investigat\w* | look[ ]into
        | debug | diagnos\w*
        # German, French, Spanish, Italian, Dutch
        | bestätig\w* | prüf\w* | warum | wieso | ursache | nachstell\w* | untersuch\w* | vérifi\w* | pourquoi
        | comprueba | compruebe | por[ ]qué | averigu\w* | verifi\w* | conferm\w* | perché | controll\w* | klopt
        | bevestig\w* | waarom | oorzaak | onderzoek
        # the Scandinavian languages, Finnish
        | bekräfta | varför | kolla | undersök | bekræft | hvorfor | tjek | sjekk | undersøg | vahvista | miksi
        | tarkista | selvitä
        # Slavic languages
        | potwierd\w* | sprawd\w* | dlaczego | potvr\w* | proč | ověř\w* | zjisti\w* | подтвер\w* | провер\w*
        | почему | причин\w* | підтвер\w* | перевір\w* | чому
        # Turkish, Hungarian, Romanian, Greek, Indonesian, Vietnamese
        | doğrula\w* | neden | araştır\w* | erősíts\w* | miért | ellenőriz\w* | confirmă | de[ ]ce | verifică
        | επιβεβαι\w* | γιατί | έλεγ\w* | konfirmasi | kenapa | mengapa | periksa | selidiki | xác[ ]nhận
        | tại[ ]sao | kiểm[ ]tra
    )\b
    # languages without spaces or with other letters
    | 确认 | 为什么 | 检查 | 原因 | 复现 | 確認 | なぜ | 調べ | 再現 | 확인 | 왜 | 원인 | 조사 | أكد | تأكد
    | لماذا | אשר | למה | בדוק | पुष्टि | क्यों | নিশ্চিত | ยืนยัน | ทำไม | تایید | چرا
    """,
    re.IGNORECASE | re.VERBOSE,
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
    effect = main_effect(effects_of(step.call))
    if not written or step.result is None or effect is None or effect.command is None:
        return False
    if effect.kind is EffectKind.CHECK:
        return False  # the message is the name of a test
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
