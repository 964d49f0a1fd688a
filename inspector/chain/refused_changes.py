"""Answers in words of tools that change something, and did not: "the device is offline", "2 of 3 were sent".

Such a tool has neither an exit code nor a field for errors. It answers in a sentence or two, which either says what was
done or why it was not.
"""

import re

from weaklink.inspector.chain.assertions import denies, denies_plainly
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
    kind = kind_of(call.name or "")
    if kind is ToolKind.READS or (kind is ToolKind.UNKNOWN and has_known_effect(call)):
        return None
    told = text.strip()
    if told[:1] in ("{", "[", "#", "-", "<") or only_asks(call):
        return None
    for _, value in leaves(call.arguments):
        if isinstance(value, str) and " " in value.strip():
            told = told.replace(value.strip(), "")
    return _refused_change(call, told, text) or _part_that_failed(told)


def _refused_change(call: ToolCall, told: str, text: str) -> str | None:
    """The short answer of a tool that changes something if its first sentence refuses: "the device is offline".

    A word for what was done, such as the tool's own verb ("Invitation cancelled"), says that it was, unless one just
    before it refuses ("cannot be cancelled"). What the call itself passed says nothing, and a state that was reached
    is no refusal ("the account is no longer locked"). An answer that is not English refuses if it denies.
    """
    greeting = _GREETING.match(told)
    told = told[greeting.end() :] if greeting is not None else told
    sentence = _FIRST_SENTENCE.split(told, 1)[0].casefold()
    words = sentence.split()
    marked = _MARKED.search(text)
    if marked is not None and len(text) <= _SHORT:
        return marked[0].strip()
    is_english = _ENGLISH.search(sentence) is not None
    max_words = _MAX_REFUSAL_WORDS if is_english or greeting is not None else _MAX_DENIAL_WORDS
    if not words or len(told.split()) > max_words:
        return None
    if len(words) == 1 and _ERROR_CODE.fullmatch(words[0]) is not None:
        return text.strip()
    verb = bare_name(call.name or "").partition("_")[0].removesuffix("y")[:_VERB_CHARS]
    done = next((at for at, word in enumerate(words) if word.startswith(verb) or _DONE.match(word)), None)
    before = " ".join(words if done is None else words[max(done - _WORDS_BEFORE, 0) : done + 1])
    if is_english or len(words) > max_words:
        refuses = _REFUSES.search(before) is not None and _STATE_REACHED.search(sentence) is None
    else:
        is_change = kind_of(call.name or "") is ToolKind.WRITES
        refuses = is_change and done is None and (denies_plainly(sentence) or _TAKEN.search(sentence) is not None)
    return text.strip() if refuses else None


_GREETING = lazy_pattern(
    r"(?:ok(?:ay)?|sure|thanks?(?: you)?|danke|merci|gracias|grazie|obrigad[oa]|alles klar)[.!] +", re.IGNORECASE
)
_MARKED = lazy_pattern(r"^\s*[\u26a0\u274c\u2717\u2718\u26d4]\ufe0f? ?\S.*", re.MULTILINE)  # ⚠ Choose a deputy.
_MAX_REFUSAL_WORDS, _MAX_DENIAL_WORDS, _VERB_CHARS, _WORDS_BEFORE = 20, 12, 4, 4
_FIRST_SENTENCE = lazy_pattern(r"(?<=[.!?])\s|\n|[\u3002\uff01]")
_ENGLISH = lazy_pattern(
    r"\b(?:the|is|are|was|not|no|be|to|of|your|you|a|an|in|by|this|does|failed|with|already|found)\b"
)
_DONE = lazy_pattern(
    r"(?:sent|created|added|saved|updated|deleted|removed|booked|reserved|posted|scheduled|completed|done|ok|"
    r"success\w*|submitted|applied|assigned|confirmed|registered|recorded|logged|queued|accepted)\W*$"
)
_TAKEN = lazy_pattern(
    r"\b(?:belegt|vergeben|ausgebucht|ausverkauft|gesperrt|occupée?|complet|épuisée?|ocupad[oa]|agotad[oa]|"
    r"esgotad[oa]|lotad[oa]|"
    r"occupat[oa]|esaurit[oa]|bezet|uitverkocht|zajęt[yae]|wyprzedan\w*|obsazen\w*|vyprodán\w*|upptage[nt]|slutsåld|"
    r"optaget|"
    r"opptatt|varattu|foglalt|elfogyott|dolu|tükendi|ocupat[ăe]?|занят\w*|зайнят\w*|penuh|habis)\b|已满|满员|售罄|満席|"
    r"売り切れ|매진|만석",
)
_STATE_REACHED = lazy_pattern(r"\b(?:no longer|any ?more|now|until|needed|without)\b")
# A code in place of words, as Slack writes them: `channel_not_found`, `not_in_channel`.
_ERROR_CODE = lazy_pattern(r"(?:\w+_)?(?:not|no|invalid|missing)_\w+|\w+_(?:denied|failed|error|expired|exceeded)")
_REFUSES = lazy_pattern(
    r"^(?:error|please (?:choose|select|enter|provide|specify|log|sign|try|check|contact|confirm|pick|use)|noauth|"
    r"canceling)\b|"
    r"\b(?:cannot|can(?: not|['\u2019]t)|could(?: not|n['\u2019]t)|unable|"
    r"(?:not|n['\u2019]t) (?:be |been |currently )?(?:allowed|permitted|possible|eligible|available|found|"
    r"authori[sz]ed|mergeable|supported|have|exist|include|connected|delivered|reachable)|"
    r"no permission|no [\w ]{1,30} (?:left|available|free)|fail(?:ed|s|ure)|forbidden|declined|denied|refused|invalid|"
    r"must (?:be|have)|(?:is|are) required|unavailable|offline|insufficient|expired|suspended|"
    r"already (?:exists?|booked|taken|shipped|in use)|conflict|(?:is|are|was) locked by|exceed(?:ed|s)|out of stock|"
    r"(?:not|n['\u2019]t) an? (?:\w+ )?(?:member|valid\b|admin\w*|owner|supported|recogni[sz]ed)|(?:is|"
    r"are) (?:already )?taken\b|"
    r"(?:you|user) (?:need|must|have to)|out of (?:toner|paper|range|bounds|credit|memory|space)|paper jam|no response|"
    r"(?:minimum|maximum) [\w ]{1,40} (?:is|of)|(?:authentication|approval|confirmation|payment|login) required|"
    r"(?:is|are|was|were|been) (?:disabled|frozen|archived|rolled back)|your \w+ was rejected|rolled_back|"
    r"blocked by|not initiali[sz]ed|(?:not|n['\u2019]t) triggered|has died|have died|died before|reached your|"
    r"statement timeout|too (?:large|long|many|short)|upgrade (?:to|your)|no [\w \"'-]{1,40} (?:found|exists?|"
    r"matches)|not (?:be )?"
    r"(?:connected|created|sent|saved|updated|added|deleted|removed|booked|scheduled|submitted|applied))\b"
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
    is_part = any(int(match["done"]) < int(match["total"]) for match in _OF_TOTAL.finditer(told))
    if is_part or _COUNTS_FAILED.search(told) is not None:
        return told
    return told if _NONE_DONE.search(told) and _NONE_TAKEN.search(told) else None


_NONE_DONE = lazy_pattern(
    r"\b(?:imported|inserted|created|sent|updated|processed|uploaded|synced|loaded|added)\s*[:=] ?0\b", re.IGNORECASE
)
_NONE_TAKEN = lazy_pattern(
    r"\b(?:skipped|rejected|failed|ignored|invalid)\s*[:=] ?[1-9]\d*\b[^\n]{0,40}\b(?:reason|because|error)\b"
    r"[^\n]{0,80}"
    r"\b(?:missing|unknown|invalid|required|denied|malformed|not|no|fail\w*|mismatch|unexpected|unsupported)\b",
    re.IGNORECASE,
)


_OF_TOTAL = lazy_pattern(
    r"\b(?P<done>\d{1,9}) (?:out )?of (?:the )?(?P<total>\d{1,9})\b[^.;:(\n]{0,80}[.;:(\n]\s*[^:\n]{1,60}: "
    r"[^:\n]{0,60}?\b(?:exceed\w*|fail(?:ed|s|ure)|could not|rejected|bounced|denied|not found|timed out|invalid|"
    r"fehlgeschlagen|échou\w+|falló|falhou|mislukt)\b",
    re.IGNORECASE,
)
# What failed, not what had failed before: "3 failed jobs re-queued".
_COUNTS_FAILED = lazy_pattern(
    r"\b(?<!\d )(?<![\d.,])[1-9]\d*(?: \w+){0,2} (?:(?:failed|bounced|fehler|fehlgeschlagen|échoué\w*|"
    r"fallid\w+|falhar\w+|fallit\w+|mislukt\w*)(?=\s*(?:[.,;:()\n]|$|\b(?:to|because|due|with|as|and)\b))|could not\b)|"
    r"\b(?:fehlgeschlagen|failed|échecs?|fallidos|falhas|falliti|mislukt)(?: \w+)?: [1-9]|^[\w./-]{1,60}: failed\b",
    re.IGNORECASE | re.MULTILINE,
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
    r"replace_all is false|modified since (?:it was )?(?:last )?read|has not been read|already exists|exactly the same|"
    r"\b(?:found|appears?|occurs?|matche[sd]) (?:multiple|more than|\d+) (?:times?|occurrences|matches|places)|"
    r"multiple (?:occurrences|matches)|not unique|(?:doesn't|does not|didn't|did not) match|"
    r"(?:was|were|been) reverted|(?:no|without) (?:changes?|replacements?|edits?) (?:to make|(?:was|were) made)|"
    r"out of (?:range|bounds)|within the range of lines",
    re.IGNORECASE,
)
