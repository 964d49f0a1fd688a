"""Answers in words of tools that change something, and did not: "the device is offline", "2 of 3 were sent".

Such a tool has neither an exit code nor a field for errors. It answers in a sentence or two, which either says what was
done or why it was not.
"""

import re

from weaklink.inspector.chain.assertions import clauses_of, denies, denies_plainly, excludes_only
from weaklink.inspector.chain.effects import Effect, EffectKind, edits_by_command, has_known_effect, only_asks
from weaklink.inspector.chain.failure_words import first_line
from weaklink.inspector.chain.provenance_terms import leaves
from weaklink.inspector.chain.tool_kinds import ToolKind, bare_name, kind_of
from weaklink.inspector.model import ToolCall
from weaklink.inspector.scanning import lazy_pattern

_SHORT = 400


def denial(call: ToolCall, effect: Effect | None, text: str) -> str | None:
    """The short answer of a tool that changes something, if it denies."""
    if effect is None or (effect.command is not None and not edits_by_command(effect)):
        return None
    if effect.kind is EffectKind.WRITE:
        return _refused_write(text)
    if (alert := _alert_of_page(call, text)) is not None or _updates_nothing(call, text):
        return alert or first_line(text)
    kind = kind_of(call.name or "")
    if kind is ToolKind.READS or (kind is ToolKind.UNKNOWN and has_known_effect(call)):
        return None
    told = text.strip()
    if told[:1] in ("{", "[", "#", "-", "<") or only_asks(call):
        return None
    told = _without_arguments(call, told)
    return _refused_change(call, told, text) or _part_that_failed(told)


def _alert_of_page(call: ToolCall, text: str) -> str | None:
    """The alert with which a page answers a click or a submission, if it denies: Playwright's snapshots."""
    if _ACTS_ON_PAGE.isdisjoint(bare_name(call.name or "").split("_")):
        return None
    alerts = (match["told"].strip(' "') for match in _ALERT.finditer(text))
    return next((told for told in alerts if _denies_on_page(told)), None)


def _denies_on_page(told: str) -> bool:
    folded = _FIRST_SENTENCE.split(_EXCLAIMED.sub("", told), 1)[0].casefold()
    if any(map(_DONE.match, folded.split())):
        return False
    if not _is_english(folded):
        return _WRONG.search(folded) is not None or _denies_plainly(folded)
    return _WRONG.search(folded) is not None or (_REFUSES.search(folded) is not None and not folded.startswith("no "))


_EXCLAIMED = lazy_pattern(r"^\w+[.!:] ")  # "Oops! ..."
_ACTS_ON_PAGE = frozenset(("click", "submit", "press", "select", "tap"))
_ALERT = lazy_pattern(r"^\s*- alert\b[^:\n\"]*[: ]+(?P<told>[^\n]{3,200})", re.MULTILINE)
_WRONG = lazy_pattern(
    r"""
    \b(?:
        # English
        incorrect\w* | invalid\w* | wrong
        # other languages with spaces between words
        | falsch\w* | ungültig\w* | inválid[oa]s? | errat[oa] | non[ ]valid[oae] | onjuist | ongeldig\w*
        | felaktig\w* | feil | nieprawidłow\w+ | błędn\w+ | nesprávn\w+ | neplatn\w+ | неверн\w+ | неправильн\w+
        | невірн\w+ | geçersiz | hatalı | helytelen | érvénytelen | salah
    )\b
    # Chinese, Japanese, Korean
    | 错误 | 不正确 | 無効 | 正しくありません | 잘못 | 올바르지
    """,
    re.VERBOSE,
)


def _updates_nothing(call: ToolCall, told: str) -> bool:
    """Whether an update of one thing, by its key, met none: `UPDATE 0`."""
    if _MET_SOME.search(told[:_SHORT]) is not None:
        return False
    return _MET_NONE.search(told[:_SHORT]) is not None and _UPDATES_BY_KEY.search(call.raw_arguments) is not None


_MET_NONE = lazy_pattern(r"^UPDATE 0$|^Rows matched: 0 ", re.MULTILINE)
_MET_SOME = lazy_pattern(r"^(?:UPDATE|Rows matched:) [1-9]", re.MULTILINE)
_UPDATES_BY_KEY = lazy_pattern(
    r"\bupdate\s[^;]*\swhere\s+[\w.`]+\s*=\s*'?[\w.@-]*\d[\w.@-]*'?\s*;?\\?[\"}]", re.IGNORECASE
)


def refuses_change(call: ToolCall, sentence: str) -> bool:
    """Whether a sentence in the answer of a tool that changes something says that it did not."""
    return _refused_change(call, _without_arguments(call, sentence.strip()), sentence) is not None


def _without_arguments(call: ToolCall, told: str) -> str:
    """An answer without what the call itself passed, which says nothing of what became of it."""
    values = {value.strip() for _, value in leaves(call.arguments) if isinstance(value, str)}
    passed = sorted((value for value in values if 2 < len(value) <= _SHORT), key=len, reverse=True)
    return re.sub(rf"(?i)(?<!\w)(?:{'|'.join(map(re.escape, passed))})(?!\w)", "_", told) if passed else told


def _refused_change(call: ToolCall, told: str, text: str) -> str | None:
    """The short answer of a tool that changes something if it begins with a refusal: "the device is offline".

    Only its first clause counts, but for an apology before it: what follows what was done is a remark ("saved, no
    restart needed"). A word for what was done, such as the tool's own verb, says that it was, unless a negation is just
    before it ("cannot be cancelled"), and so does the state that a tool brings ("the card is frozen"). A state that was
    reached is no refusal ("the account is no longer locked"), nor is that there is nothing to do ("no duplicates
    found"). An answer that is not English refuses if its clause denies.
    """
    greeting = _GREETING.match(told)
    told = told[greeting.end() :] if greeting is not None else told
    marked = _MARKED.search(text)
    if marked is not None and len(text) <= _SHORT:
        return marked[0].strip()
    sentence = _FIRST_SENTENCE.split(told, 1)[0].casefold()
    clause = _END_OF_CLAUSE.split(_APOLOGY.sub("", sentence), 1)[0]
    words = clause.split()
    is_english = _is_english(sentence)
    max_words = _MAX_REFUSAL_WORDS if is_english or greeting is not None else _MAX_DENIAL_WORDS
    if not words or len(told.split()) > max_words:
        return None
    if len(words) == 1 and _ERROR_CODE.fullmatch(words[0]) is not None:
        return text.strip()
    if any(pattern.search(clause) is not None for pattern in (_STATE_REACHED, _NOTHING_TO_DO, _FOR_USER, _SIDE_REMARK)):
        return None
    names = bare_name(call.name or "").split("_")
    verb = names[0].removesuffix("y")[:_VERB_CHARS]
    done = next((index for index, word in enumerate(words) if _DONE.match(word) or word.startswith(verb)), None)
    is_change = kind_of(call.name or "") is ToolKind.WRITES
    if not is_english:
        others = " ".join(word for index, word in enumerate(words) if index != done)
        refuses = is_change and (
            _denies_plainly(others) or (_ALREADY.search(clause) is not None and names[0].startswith(_BOOKS))
        )
    elif done is None and _RESTRICTS.isdisjoint(names):
        refuses = _REFUSES.search(clause) is not None or (is_change and _says_it_was_not(names[0], clause))
    else:
        before = " ".join(words[max((done or 0) - _WORDS_BEFORE, 0) : done])
        refuses = _NEGATED.search(before) is not None or _IS_THERE.search(clause) is not None
    return text.strip() if refuses else None


def _says_it_was_not(verb: str, clause: str) -> bool:
    """Whether a clause denies by a verb ("did not respond"), and not that a thing is as the tool was to make it."""
    return verb not in _ENDS and _VERB_DENIED.search(clause) is not None and _denies_plainly(clause)


_ENDS = frozenset(("stop", "end", "kill", "close", "delete", "remove", "clear", "cancel", "unset", "hide", "turn"))
_VERB_DENIED = lazy_pattern(
    r"\b(?:did|does|do|has|have|had|was|were|you are|is)(?: not|n['\u2019]t| no)\b"
    r"(?! (?:need|change|differ|require|affect|running|taken))"
)


def _denies_plainly(clause: str) -> bool:
    return denies_plainly(clause) and not any(map(excludes_only, clauses_of(clause)))


_GREETING = lazy_pattern(
    r"(?:ok(?:ay)?|sure|thanks?(?: you)?|danke|merci|gracias|grazie|obrigad[oa]|alles klar)[.!] +", re.IGNORECASE
)
_MARKED = lazy_pattern(r"^\s*[\u26a0\u274c\u2717\u2718\u26d4]\ufe0f? ?\S.*", re.MULTILINE)  # ⚠ Choose a deputy.
_MAX_REFUSAL_WORDS, _MAX_DENIAL_WORDS, _VERB_CHARS, _WORDS_BEFORE = 20, 12, 4, 4
_APOLOGY = lazy_pattern(
    r"""
    ^\W*(?:
        # "sorry", "unfortunately", in the languages that are read
        (?:i['\u2019]m[ ]|we[ ]are[ ])?sorry | unfortunately | leider | désolée? | malheureusement | lo[ ]siento
        | lamentablemente | desculpe | infelizmente | lamento | mi[ ]dispiace | purtroppo | helaas | sorry
        | niestety | przepraszam\w* | bohužel | tyvärr | desværre | dessverre | beklager | valitettavasti
        | sajnos | sajnál\w+ | maalesef | üzgün\w+ | din[ ]păcate | maaf | к[ ]сожалению | на[ ]жаль | извините
        | 很?抱歉 | 对不起 | 申し訳(?:ありません|ございません)(?:が)? | 죄송합니다만?
    )[,:;、，!.]\s*
    """,
    re.VERBOSE,
)
_END_OF_CLAUSE = lazy_pattern(
    r"""
    # punctuation, a dash
    [,;(，；（、]\s* | \s[\u2013\u2014-]\s
    # a conjunction with a negation after it
    | \s(?:and|und|et|y|e|i|en|och|og|и)[ ](?=
        (?:is[ ]|ist[ ])?(?:not?|nicht|kein\w*|ne|non|não|nie|niet|geen|inte|ikke|не)\b
    )
    """,
    re.VERBOSE,
)
_FIRST_SENTENCE = lazy_pattern(r"(?<=[.!?])\s|\n|[\u3002\uff01]")


def _is_english(sentence: str) -> bool:
    """Whether a sentence in lower case is English, by its words: short ones decide only where all letters are."""
    if _ENGLISH.search(sentence) is not None:
        return True
    return _PERHAPS_ENGLISH.search(sentence) is not None and not any(
        letter.isalpha() and not letter.isascii() for letter in sentence
    )


_ENGLISH = lazy_pattern(r"\b(?:the|is|are|was|not|be|to|your|you|this|does|did|has|have|failed|with|already|found)\b")
_PERHAPS_ENGLISH = lazy_pattern(r"\b(?:no|of|a|an|in|by|at)\b")
_DONE = lazy_pattern(
    r"""
    (?:
        # what a change has done, at the end of the answer
        sent | created | added | saved | updated | deleted | removed | booked | reserved | posted | scheduled
        | completed | done | ok | success\w* | submitted | applied | assigned | confirmed | registered
        | recorded | logged | (?:re-?)?queued | accepted | issued | marked | moved | closed | cleared | copied
        | enabled | published
    )\W*$
    """,
    re.VERBOSE,
)
_ALREADY = lazy_pattern(
    r"\b(?:bereits|schon|déjà|ya|já|già|al|reeds|redan|allerede|już|již|už|уже|вже|zaten|már|sudah|jo)\b"
)
_BOOKS_TABLE = "book reserv buch prenot boek boka bestil rezerw zarezerw rezerv varaa foglal"
_BOOKS = tuple(_BOOKS_TABLE.split())
_STATE_REACHED = lazy_pattern(
    r"\b(?:no longer|any ?more|now|until|needed|without|from now on|nicht mehr|ne .{1,30} plus|ya no|não .{1,20} mais|"
    r"non .{1,20} più|niet meer|już nie|больше не|inte längre|ikke lengre|ikke længere|artık)\b|不再"
)
# What somebody has yet to do, what was so before, or what else there is, says nothing of the call.
_SIDE_REMARK = lazy_pattern(
    r"\b(?:has|have)(?: not|n['\u2019]t) (?!been\b)\w+ yet\b|\bbefore\W*$|\b(?:not|n['\u2019]t) have (?:any )?other\b"
)
# "No duplicates found", "Aucun changement": the work of a tool that goes through many things may be none.
_NO = r"keine?|aucune?|pas de|sin|ningun[oa]?|ningún|no hay|sem|nenhuma?|nessuna?|geen|brak|žádn\w*|inga?|ingen|нет"
_NOTHING_TO_DO = lazy_pattern(
    r": ?0\b|\b(?:no|0|any|without) (?:[\w-]+ )?(?:[\w-]*[^\Ws]s\b(?! (?:left|available|free))|changes?\b)|\bnothing\b|"
    rf"\b(?:{_NO}) (?:[\w-]+ ){{1,2}}(?:offen|ausstehend|anstehend|nötig|notwendig|erforderlich|en attente|nécessaire|"
    r"pendiente|necesari|pendent|necess[áa]ri|in sospeso|in attesa|openstaand|nodig|oczekując|potrzebn|čekajíc|potřeb|"
    r"väntande|behöv|ventende|nødvendig)\w*|"
    rf"\b(?:{_NO}) (?:neuen?|nouve\w+|nuev\w+|nov[oa]s?|nuov\w+|nieuwe?|now\w+|nov[ýáé]\w*|ny[ae]?|новых) [\w-]+\W*$|"
    r"\b(?:keine?|aucune?|pas de|sans|sin|ningun[oa]?|ningún|no hay|sem|nenhuma?|nessuna?|senza|geen|bez|brak|žádn\w*|"
    r"inga?|ingen|ei|nincs|нет|немає|không có|tidak ada) (?:änderung|changement|modific|cambi|alteraç|mudança|"
    r"wijziging|zmian|změn|ändring|ændring|endring|muutoks|változás|изменен|змін|thay đổi|perubahan|dup|doublon|doppi|"
    r"дубл|migra|миграц)|\bизменений нет|değişiklik yok|(?:没有|無|无)(?:变化|变更|更改|重复)|"
    r"(?:変更|重複)(?:は|が)?(?:あり|な)|변경\S* 없"
)
# "Asiento 12A ocupado por usted": what is taken is the user's.
_FOR_USER = lazy_pattern(
    r"""
    # English
    \b(?:taken|held|occupied|reserved)[ ](?:by|for)[ ]you\b
    # German, French, Spanish and Portuguese, Italian
    | \b(?:für|von)[ ](?:sie|dich|dir|ihnen)[ ](?:belegt|besetzt|reserviert)\b
    | \b(?:occupée?|réservée?)[ ](?:par|pour)[ ](?:vous|toi)\b
    | \b(?:ocupad|reservad)[oa][ ](?:por|para)[ ](?:usted|ti|você|vos)\b
    | \b(?:occupat|riservat|prenotat)[oa][ ](?:da|per)[ ](?:te|lei|voi)\b
    """,
    re.VERBOSE,
)
_IS_THERE = lazy_pattern(r"\balready (?:exists?|booked|taken|reserved|shipped|sold|in use)\b")
_NEGATED = lazy_pattern(
    r"\b(?:cannot|can['\u2019]t|not|unable|fail(?:ed|s)? to|no|never|nothing|refused to|must|need|permission|denied|"
    r"offline|unavailable|forbidden)\b|n['\u2019]t\b"
)
# What a tool is called that brings a state which would be a refusal of another tool.
_RESTRICTS_TABLE = (
    "disable deactivate freeze archive lock block suspend reject decline deny revoke invalidate expire refuse ban mute "
    "pause rollback roll revert enforce require restrict"
)
_RESTRICTS = frozenset(_RESTRICTS_TABLE.split())
# A code in place of words, as Slack writes them: `channel_not_found`, `not_in_channel`.
_ERROR_CODE = lazy_pattern(r"(?:\w+_)?(?:not|no|invalid|missing)_\w+|\w+_(?:denied|failed|error|expired|exceeded)")
_REFUSES = lazy_pattern(
    r"""
    # what an answer begins with
    ^(?:
        error | please[ ](?:choose|select|enter|provide|specify|log|sign|try|check|contact|confirm|pick|use)
        | noauth | canceling | not[ ]enough
    )\b
    # "cannot", "is not allowed", "was declined", anywhere in the clause
    | \b(?:
        cannot | can(?:[ ]not|['\u2019]t) | could(?:[ ]not|n['\u2019]t) | unable
        | (?:not|n['\u2019]t)[ ](?:be[ ]|been[ ]|currently[ ])?(?:
            allowed | permitted | possible | eligible | available | found | authori[sz]ed | mergeable
            | supported | have | exist | include | connected | delivered | reachable
        )
        | no[ ]permission | no[ ][\w ]{1,30}[ ](?:left|available|free) | (?<!\b0[ ])fail(?:ed|s|ure) | forbidden
        | declined | denied | refused | invalid | must[ ](?:be|have) | (?:is|are)[ ]required(?=[.!:]?$)
        | unavailable | offline | insufficient | expired | suspended
        | already[ ](?:exists?|booked|taken|shipped|in[ ]use) | conflict | (?:is|are|was)[ ]locked[ ]by
        | exceed(?:ed|s) | out[ ]of[ ]stock
        # "not a member", "already taken", "you need to"
        | (?:not|n['\u2019]t)[ ]an?[ ](?:\w+[ ])?(?:member|valid\b|admin\w*|owner|supported|recogni[sz]ed)
        | (?:is|are)[ ](?:already[ ])?taken\b | (?:you|user)[ ](?:need|must|have[ ]to)
        | out[ ]of[ ](?:toner|paper|range|bounds|credit|memory|space) | paper[ ]jam | no[ ]response
        # a limit, or a state that forbids it
        | (?:minimum|maximum)[ ][\w ]{1,40}[ ](?:is|of)
        | (?:authentication|approval|confirmation|payment|login)[ ]required
        | (?:is|are|was|were|been)[ ](?:disabled|frozen|archived|rolled[ ]back) | your[ ]\w+[ ]was[ ]rejected
        | rolled_back | blocked[ ]by | not[ ]initiali[sz]ed | (?:not|n['\u2019]t)[ ]triggered | has[ ]died
        | have[ ]died | died[ ]before | reached[ ]your | statement[ ]timeout | too[ ](?:large|long|many|short)
        | upgrade[ ](?:to|your) | no[ ][\w \"'-]{1,40}[ ](?:found|exists?|matches)
        # "not saved"
        | not[ ](?:be[ ])?(?:
            connected | created | sent | saved | updated | added | deleted | removed | booked | scheduled
            | submitted | applied
        )
    )\b
    """,
    re.VERBOSE,
)


_MADE = (
    r"(?:made|created|placed|reserved|booked|sent|saved|scheduled|confirmed|submitted|processed|"
    r"completed|applied)"
)
NOTHING_DONE = lazy_pattern(
    rf"(?P<nothing>\bno (?:\w+ ){{1,3}}(?:has|have|was|were) (?:been )?{_MADE}\b)|"
    r"\b(?:could not|couldn['\u2019]t|cannot|can['\u2019]t|"
    rf"unable to) (?:be )?(?:{_MADE}|make|create|place|reserve|book|send|save|schedule|confirm|submit|"
    r"process|complete)\b",
    re.IGNORECASE,
)
"""How a service says in a polite sentence that it did nothing: "No reservation has been made"."""


def _part_that_failed(told: str) -> str | None:
    """The short answer of a tool that did only some of its work: "Uploaded 2 of 3 files. c: quota exceeded".

    Fewer than all is no failure ("Saved page 1 of 8"): only what is counted as failed, or a thing beside its error.
    """
    if len(told) > _SHORT:
        return None
    if _takes_nothing(told):
        return told
    is_part = any(int(match["done"]) < int(match["total"]) for match in _OF_TOTAL.finditer(told))
    if is_part or _COUNTS_FAILED.search(told) is not None:
        return told
    return told if _NONE_DONE.search(told) and _NONE_TAKEN.search(told) else None


def _takes_nothing(told: str) -> bool:
    """Whether a table of counts has a 0, and beside the largest a reason that denies: `skipped: 90 (no such SKU)`."""
    lines = [
        (int(_MARKS.sub("", match["count"])), match["name"], match["reason"] or "") for match in _COUNT.finditer(told)
    ]
    counts = [count for count, *_ in lines]
    most = max(counts, default=0)
    if not most or counts.count(most) > len(("the total", "what was left out")) or 0 not in counts:
        return False
    first = counts.index(0)
    return _AMONG_FAILED.search(lines[first][1]) is None and any(
        count == most and bool(reason) and _is_reason(reason.casefold()) for count, _, reason in lines[first:]
    )


def _is_reason(reason: str) -> bool:
    if _AS_BEFORE.search(reason) is not None:
        return False
    return _REFUSES.search(reason) is not None or _AMISS.search(reason) is not None or denies_plainly(reason)


_COUNT = lazy_pattern(
    r"^[ \t]*(?P<name>[^\W\d][^:\n]{0,40}): *(?P<count>\d[\d.,]*)(?: *\((?P<reason>[^)\n]{3,120})\))?", re.MULTILINE
)
_AMONG_FAILED = lazy_pattern(  # what no failure is to have: "errors: 0"
    r"error|fail|bounce|reject|skip|warning|conflict|duplicate|fehler|erreur|échec|errores|fallid|erros|falha|errori|"
    r"fallit|fout|mislukt|błęd|chyb|ошиб|fel\b|feil|错误|失败|エラー|失敗|오류|실패",
    re.IGNORECASE,
)
_AS_BEFORE = lazy_pattern(
    r"\bnone\b|\bnot counting\b|"
    r"unchanged|up to date|already|identical|duplicate|same|unverändert|inchangé|sin cambios|sem alter"
)
_MARKS = lazy_pattern(r"[.,]")
_AMISS = lazy_pattern(
    r"\b(?:unknown|missing|falta|fehlt|manque|manca|ontbreekt|brakuje|chybí|отсутствует|saknas|mangler)\b"
)


_NONE_DONE = lazy_pattern(
    r"\b(?:imported|inserted|created|sent|updated|processed|uploaded|synced|loaded|added)\s*[:=] ?0\b", re.IGNORECASE
)
_NONE_TAKEN = lazy_pattern(
    r"""
    \b(?:
        # the count
        skipped | rejected | failed | ignored | invalid
    )\s*[:=][ ]?[1-9]\d*\b[^\n]{0,40}\b(?:reason|because|error)\b[^\n]{0,80}\b(?:
        # the reason
        missing | unknown | invalid | required | denied | malformed | not | no | fail\w* | mismatch | unexpected
        | unsupported
    )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


_OF_TOTAL = lazy_pattern(
    r"""
    \b(?P<done>\d{1,9})[ ](?:out[ ])?of[ ](?:the[ ])?(?P<total>\d{1,9})\b[^.;:(\n]{0,80}(?:
        # a reason with a label, or a name or number with a point or slash
        [.;:(\n]\s*[^:\n]{1,60}:[ ][^:\n]{0,60}? | [:(]\s*[^\s:]{0,60}[./\d][^\s:]{0,60}[ ]
    )\b(?:
        # the failure
        exceed\w* | fail(?:ed|s|ure) | could[ ]not | rejected | bounced | denied | not[ ]found | timed[ ]out
        | invalid | fehlgeschlagen | échou\w+ | falló | falhou | mislukt
    )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
# What failed, not what had failed before: "3 failed jobs re-queued".
_COUNTS_FAILED = lazy_pattern(
    r"""
    \b(?<!\d[ ])(?<![\d.,])[1-9]\d*(?:[ ]\w+){0,2}[ ](?:
        # "3 failed", not "3 failed logins"
        (?:
            failed | bounced | fehler(?:haft)? | fehlgeschlagen | échoué\w* | fallid\w+ | falhar\w+ | fallit\w+
            | mislukt\w*
        )(?=\s*(?:[.,;:()\n]|$|\b(?:to|because|due|with|as|and)\b))
        # "2 could not be sent"
        | could[ ]not\b
    )
    # "failed: 3"
    | \b(?:fehlgeschlagen|failed|échecs?|fallidos|falhas|falliti|mislukt)(?:[ ]\w+)?:[ ][1-9]
    # "name: failed"
    | ^[\w./-]{1,60}:[ ]failed\b
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)


def _refused_write(text: str) -> str | None:
    """The first line of an editor's short answer if it denies: an editor that did its work says so there.

    Below it, an editor shows what it wrote.
    """
    line = first_line(text)
    if len(text) > 2 * _SHORT or len(line) > _SHORT:
        return None
    is_refused = denies(line.partition(". ")[0]) or (_EDITED.search(line) is None and _NOT_EDITED.search(line))
    return line if is_refused else None


_EDITED = lazy_pattern(
    r"\b(?:successfully|updated|edited|modified (?!since)|saved|created|replaced|wrote|written|applied|overwritten)\b",
    re.IGNORECASE,
)
# How editors of coding agents refuse: the text is not there, or not once, or the file is another than the agent read.
_NOT_EDITED = lazy_pattern(
    r"""
    # editors' reasons: the text is there several times, or the file was not read
    replace_all[ ]is[ ]false | modified[ ]since[ ](?:it[ ]was[ ])?(?:last[ ])?read | has[ ]not[ ]been[ ]read
    | already[ ]exists | exactly[ ]the[ ]same
    | \b(?:
        found | appears? | occurs? | matche[sd]
    )[ ](?:multiple|more[ ]than|\d+)[ ](?:times?|occurrences|matches|places)
    | multiple[ ](?:occurrences|matches) | not[ ]unique | (?:doesn't|does[ ]not|didn't|did[ ]not)[ ]match
    | (?:was|were|been)[ ]reverted
    | (?:no|without)[ ](?:changes?|replacements?|edits?)[ ](?:to[ ]make|(?:was|were)[ ]made)
    | out[ ]of[ ](?:range|bounds) | within[ ]the[ ]range[ ]of[ ]lines
    """,
    re.IGNORECASE | re.VERBOSE,
)
