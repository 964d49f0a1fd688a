"""Decides whether a value of a call comes from its context: the same value after folding case, dates and numbers.

Theory of operation. A context is a sequence of texts: the system prompt, the user's messages, the results, and the
values that the tool's definition offers. Each text is folded once into words (case and accents removed) and numbers
(separators, number words, `2k`, `15 %`). A value is supported if one of these is true, tried in this order:

1. It is trivial: a boolean, null, an empty text.
2. It is 0 or 1, or a number whose value is in the context, also as a number word or a percentage; or it is one step
   away from that: another unit (3 minutes, 180), a period of time (a week, 7), the number before or after it (at least
   11, more than 10), a month's number, or the sum or the difference of two numbers.
3. Its words are in the context, next to each other; or it is a date or a time that the context writes differently.
4. It is an ISO code of a currency, a country or a language, or another code in capital letters, such as a stock's
   symbol or an airport: the model knows these, and looks them up for a name.
5. It is a list in one text (`Tokyo, Japan`), of which the first member is supported.
6. It is another form of the context's words: at least half of its letters are in words that are near one of them
   (`Germany` for `German`, `Chicago` for `Chcicago`, `San Francisco` for `San Fran`, part of a Chinese name), or it is
   what the context abbreviates (`Los Angeles` for `LA`, `New York` for `NYC`).
7. It is composed free text: its parameter's name implies that (`query`, `subject`), or it has several words. Words with
   digits, except years, must still be in the context.
8. It is in another script than some of the user's words, or a name and the user writes a language of Latin letters
   other than English, so that it can be a translation (`Munich` for `München`).

A value that passes may still be wrong: only a reference shows that. A value that fails has no source that these rules
know, so a verifier without a reference rejects few right answers; `python -m benchmarks bfcl` counts them.

The cost is linear in the texts. Folded texts are cached, because the rows of a group share their prompt.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum, auto
from functools import cached_property, lru_cache
from itertools import chain, combinations, islice
from math import isclose

from msgspec import Struct

from weaklink.inspector.chain.faults import is_placeholder
from weaklink.inspector.chain.provenance_terms import spellings
from weaklink.inspector.model import Json
from weaklink.inspector.scanning import lazy_pattern

_WORD = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_CAPITALS = lazy_pattern(r"\b[A-Z]{2,5}\b")
_ENGLISH_NAME = lazy_pattern(r"[A-Z][A-Za-z'’.-]*(?: [A-Za-z'’.-]+){0,3}(?:, [A-Z][A-Za-z ]*)?")
_FOREIGN = frozenset(  # function words that are no English words, without accents; of Scandinavia's languages to Polish
    (
        *("der", "das", "und", "ist", "ein", "eine", "wie", "fur", "mit", "nach", "zum", "von", "ich", "bitte", "wo"),
        *("het", "een", "voor", "naar", "hoe", "wat", "les", "des", "est", "une", "pour", "quel", "quelle", "fait"),
        *("moi", "dans", "combien", "es", "una", "para", "por", "que", "como", "cual", "hace", "il", "che", "della"),
        "fa",
        *("qual", "com", "em", "uma", "esta", "jaka", "jest", "jak", "hur", "ar", "och", "det", "jag", "hvad", "er"),
        *("hvordan", "pa", "en", "de", "du", "na"),
    )
)
_ENGLISH = frozenset(  # none of them is a word of those languages
    (
        *("the", "are", "for", "and", "what", "how", "with", "my", "please", "it", "you", "from", "does", "when"),
        *("where", "which", "that", "this", "there"),
    )
)
_SHORT_WORDS = 8
_NUMBER = lazy_pattern(r"(?<![\w.])[-−]?\d+(?:[,_ \u202f']\d{3}(?!\d))*(?:\.\d+)?(?:[eE][-+]?\d{1,3})?")
_SCALE = lazy_pattern(r"\s?(%|percent\b|k\b|thousand\b|m\b|million\b|bn?\b|billion\b|hundred\b|dozen\b)", re.IGNORECASE)
_SCALES = {
    **dict.fromkeys(("k", "thousand"), 1e3),
    **dict.fromkeys(("m", "million"), 1e6),
    **dict.fromkeys(("b", "bn", "billion"), 1e9),
    "hundred": 1e2,
    "dozen": 12,
    **dict.fromkeys(("%", "percent"), 0.01),
}
_UNITS_TABLE = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS_TABLE = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS_TABLE = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_OTHER_NUMBERS: dict[str, float] = {
    **dict.fromkeys(("a", "an", "single", "once"), 1),
    **dict.fromkeys(("both", "pair", "couple", "twice", "两"), 2),
    "half": 0.5,
    "quarter": 0.25,
    "dozen": 12,
    **dict.fromkeys(("hundred", "百"), 100),
    **dict.fromkeys(("thousand", "千"), 1000),
    "万": 10_000,
    "million": 1e6,
    "billion": 1e9,
}
_TENS: dict[str, float] = dict(zip(_TENS_TABLE.split(), range(20, 100, 10), strict=True))
_WORD_VALUES: dict[str, float] = {
    **{word: value for value, word in enumerate(_UNITS_TABLE.split())},
    **{word: value for value, word in enumerate(_ORDINALS_TABLE.split(), 1)},
    **{word: value for value, word in enumerate("零一二三四五六七八九十")},
    **_TENS,
    **_OTHER_NUMBERS,
}
_MULTIPLIERS = {"hundred": 100, "thousand": 1000, "million": 1e6, "billion": 1e9}
_ISO_DATE = lazy_pattern(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)")
_TIME = lazy_pattern(r"(?:.*[T ])?(\d\d?):(\d\d)(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")
_RELATIVE_TABLE = (
    "today tonight tomorrow yesterday now current currently latest recent upcoming weekend week weeks month months day "
    "days year years next last this monday tuesday wednesday thursday friday saturday sunday hoy mañana heute morgen "
    "demain"
)
_RELATIVE = frozenset(_RELATIVE_TABLE.split())
_REACH = timedelta(days=62)
_FREE_TEXT = lazy_pattern(
    r"(?:.*_)?(?:text|message|content|contents|body|reason|thought|summary|title|subject|note|notes|answer|comment|"
    r"description|query|q|search|question|prompt|code|command|cmd|script|sql|expression|formula|equation|pattern|"
    r"keywords?|topic|topics|instructions?|details|caption|label|tags?|todos?|task|context|feedback)(?:_?text)?",
    re.IGNORECASE,
)
"""A name in snake case of a text that the model composes: `message`, `email_subject`, `query_text`, `keywords`."""
_CAMEL = lazy_pattern(r"(?<=[a-z])(?=[A-Z])")
_YEAR = lazy_pattern(r"(?:19|20)\d\d")
_MANY_WORDS = 3
_UNIT_FACTORS = (12, 60, 100, 1000, 3600)
_PERIODS: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("minute", "minutes", "min"), (60,)),
    **dict.fromkeys(("hour", "hours", "hourly"), (60, 3600)),
    **dict.fromkeys(("day", "days", "daily"), (24, 365, 1440, 86_400)),
    **dict.fromkeys(("week", "weeks", "weekly"), (7, 52, 168)),
    "fortnight": (14,),
    **dict.fromkeys(("month", "months", "monthly"), (12, 30, 31)),
    **dict.fromkeys(("quarterly", "quarter"), (3, 4, 90)),
    **dict.fromkeys(("year", "years", "annual", "annually", "yearly"), (12, 365)),
    **dict.fromkeys(("decade", "decades"), (10,)),
    **dict.fromkeys(("century", "centuries"), (100,)),
}
_MONTHS_TABLE = "january february march april may june july august september october november december"
_MONTHS = {
    month[:length]: number for number, month in enumerate(_MONTHS_TABLE.split(), 1) for length in (3, len(month))
}
_CODE = lazy_pattern(r"[A-Z]{2,5}")
_OTHER_DATE = lazy_pattern(r"(?:(\d{4})[-/.])?(\d\d?)[-/.](\d\d?)(?:[-/.](\d{4}))?")
_YEAR_AND_MONTH = lazy_pattern(r"((?:19|20)\d\d)[-/](0[1-9]|1[0-2])")
_DAY = lazy_pattern(r"(\d\d?)(?:st|nd|rd|th)?")
_MAX_DERIVED = 24  # numbers of the context from which others are computed
_MAX_COMPARED = 400  # words of the context that a word is compared with
_MIN_SIMILARITY = 0.8
_MIN_PREFIX_CHARS = 4
_MAX_TEXT_CHARS = 200_000
_MAX_WORDS = 64
_MAX_FORM_WORDS = 6
_MAX_LETTERS = 20_000  # code points that are looked at for their script


class Script(Enum):
    """The script of a letter."""

    LATIN = auto()
    OTHER = auto()


class FoldedText(Struct, frozen=True, dict=True):
    """A text prepared for lookups: its words in one line separated by spaces, its numbers, its full dates.

    Most values are found in the line, so the rest is computed when it is first used.
    """

    text: str
    line: str

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the line."""
        return frozenset(self.line.split())

    @cached_property
    def numbers(self) -> frozenset[float]:
        """The numbers in digits and in words."""
        return frozenset((*_digit_numbers(self.text), *_word_numbers(self.line.split())))

    @cached_property
    def dates(self) -> tuple[date, ...]:
        """The full dates."""
        return tuple(_dates(self.text))


@lru_cache(maxsize=1024)
def fold_text(text: str) -> FoldedText:
    """The folded text; of a long text, only the first and last 100,000 code points."""
    if len(text) > _MAX_TEXT_CHARS:
        text = f"{text[: _MAX_TEXT_CHARS // 2]} {text[-_MAX_TEXT_CHARS // 2 :]}"
    return FoldedText(text, f" {' '.join(folded(text))} ")


def folded(text: str) -> list[str]:
    """The words of a text without case and accents; each character of Chinese or Japanese is a word."""
    if text.isascii():  # three times as fast as the expression
        return text.encode("ascii").translate(_FOLDED_ASCII).decode("ascii").split()
    text = "".join(
        character for character in unicodedata.normalize("NFKD", text) if not unicodedata.combining(character)
    )
    return _WORD.findall(unicodedata.normalize("NFC", text).casefold())


_FOLDED_ASCII = bytes(ord(chr(code).lower()) if chr(code).isalnum() else ord(" ") for code in range(128)) + bytes(128)


class ContextValues(Struct, frozen=True):
    """The values that a call may use: those in `texts` (the model's input) and `allowed` (enums, defaults).

    `user_words` are the user's messages as they are.
    """

    texts: Sequence[FoldedText]
    allowed: frozenset[str] = frozenset()
    user_words: str = ""

    def supports(self, name: str, value: Json) -> bool:
        """Whether the value of the parameter `name` comes from the context; the module docstring has the rules."""
        if value is None or isinstance(value, bool | dict | list):
            return True
        if not isinstance(value, str):
            return allowed_key(value) in self.allowed or self.has_number(value) or self._is_derived(float(value))
        text = value.strip()
        if not text or allowed_key(text) in self.allowed or self._has_text(text):
            return True
        return self._is_composed(name, text) or self._may_be_translated(text) or self._is_other_form(text)

    def has_number(self, value: float | Decimal) -> bool:
        """Whether the number is in the context, in digits or words, plain or as a percentage."""
        if self._has_words(str(value)):
            return True
        try:
            number = float(value)
        except OverflowError:
            return False
        candidates = (number, number * 100, -number)
        return any(candidate in text.numbers for text in self.texts for candidate in candidates)

    def _has_text(self, text: str) -> bool:
        if self._has_words(text) or is_iso_code(text) or _is_code(text):
            return True
        number = _as_number(text)
        if number is not None and (self.has_number(number) or self._is_derived(number)):
            return True
        if self._has_date(text) or self._has_time(text) or self._has_day_and_month(text) or self._has_month(text):
            return True
        first, comma, _ = text.partition(",")
        return bool(comma) and len(text) < 100 and bool(first.strip()) and self._has_words(first)

    def _is_derived(self, number: float) -> bool:
        """Whether a number is 0 or 1, or one step away from the numbers and the periods of the context."""
        if number in (0, 1):
            return True
        known = {value for text in self.texts for value in text.numbers if value}
        periods = {value for text in self.texts for word in text.words for value in _PERIODS.get(word, ())}
        months = {float(_MONTHS[word]) for text in self.texts for word in text.words if word in _MONTHS}
        if number in periods or number in months:
            return True
        few = sorted(known, key=abs)[:_MAX_DERIVED]
        scales = {*_UNIT_FACTORS, *periods}
        scaled = (result for value in few for scale in scales for result in (value * scale, value / scale))
        beside = (value + step for value in few for step in (1, -1))
        if any(isclose(number, result) for result in chain(beside, scaled)):
            return True
        return any(number in (first + other, first - other, other - first) for first, other in combinations(few, 2))

    def _is_other_form(self, text: str) -> bool:
        """Whether most of a short text is words near those of the context, or what the context abbreviates."""
        first = text.partition(",")[0]
        words = folded(first)
        if not words or len(words) > _MAX_FORM_WORDS or any(map(str.isdigit, first)):
            return False
        letters = sum(map(len, words))
        if 2 * sum(len(word) for word in words if self._is_near_a_word(word)) >= letters:
            return True
        initials = "".join(word[0] for word in words)
        if len(words) > 1 and any(initials in known_text.words for known_text in self.texts):
            return True
        capitals = (capital.casefold() for capital in _CAPITALS.findall(self.user_words))
        return len(words) > 1 and any(capital[:-1] == initials for capital in capitals)

    def _is_near_a_word(self, word: str) -> bool:
        """Whether the context has this word in another form: a beginning, a plural, a misspelling."""
        for text in self.texts:
            if word in text.words:
                return True
            if len(word) < _MIN_PREFIX_CHARS - 1:
                continue
            near = [candidate for candidate in islice(text.words, _MAX_COMPARED) if candidate[0] == word[0]]
            if any(_share_a_beginning(candidate, word) for candidate in near) or get_close_matches(
                word, near, 1, _MIN_SIMILARITY
            ):
                return True
        return False

    def _has_words(self, text: str) -> bool:
        words = folded(text)[:_MAX_WORDS]
        if not words:
            return True
        line = f" {' '.join(words)} "
        return any(line in known_text.line for known_text in self.texts)

    def _has_date(self, text: str) -> bool:
        match = _ISO_DATE.match(text)
        if match is None or not any(
            f" {' '.join(words)} " in known_text.line for words in spellings(text) for known_text in self.texts
        ):
            return match is not None and self._is_near_a_date(match)
        rest = text[match.end() :].lstrip("T ")
        return not rest or self._has_time(rest)

    def _has_day_and_month(self, text: str) -> bool:
        """Whether the context has a date's day beside its month, and its year if it has any year."""
        match = _OTHER_DATE.fullmatch(text)
        if match is None:
            return False
        year = match[1] or match[4]
        pair = {int(match[2]), int(match[3])}
        for text_ in self.texts:
            words = text_.line.split()
            has_year = any(_YEAR.fullmatch(word) for word in words)
            if year is not None and has_year and year not in words:
                continue
            for index, word in enumerate(words):
                month = _MONTHS.get(word)
                near = (words[index - 1] if index else "", *words[index + 1 : index + 3])
                if month in pair and any(
                    (day := _DAY.fullmatch(near_word)) and {month, int(day[1])} == pair for near_word in near
                ):
                    return True
        return False

    def _has_month(self, text: str) -> bool:
        """Whether a year with a month (`2026-02`) is one whose month and year the context names."""
        match = _YEAR_AND_MONTH.fullmatch(text)
        return match is not None and any(
            match[1] in known_text.words and any(_MONTHS.get(word) == int(match[2]) for word in known_text.words)
            for known_text in self.texts
        )

    def _is_near_a_date(self, match: re.Match[str]) -> bool:
        """Whether the context names a day in words (`tomorrow`) and has a full date near this one to count from."""
        if not any(not _RELATIVE.isdisjoint(text.words) for text in self.texts):
            return False
        try:
            day = date(int(match[1]), int(match[2]), int(match[3]))
        except ValueError:
            return False
        return any(abs(day - known) <= _REACH for text in self.texts for known in text.dates)

    def _has_time(self, text: str) -> bool:
        match = _TIME.fullmatch(text)
        if match is None or "T" in text or "-" in text:
            return False
        hour, minute = int(match[1]), int(match[2])
        spoken = {f"{hour} {minute:02}", f"{hour:02} {minute:02}", f"{hour:02}{minute:02}"}
        short, half = (hour % 12 or 12), "pm" if hour >= 12 else "am"
        minutes = (f" {minute:02}", f"{minute:02}") if minute else ("", " 00")
        spoken |= {f"{short}{minute_text}{gap}{half}" for minute_text in minutes for gap in ("", " ")}
        spoken |= {f"{short}{minute_text} {half[0]} m" for minute_text in minutes}
        part_of_day = "morning" if hour < 12 else "evening" if hour >= 18 else "afternoon"
        spoken |= {f"{short}{minute_text} in the {part_of_day}" for minute_text in minutes}
        if not minute:
            spoken |= {"noon", "midday"} if hour == 12 else {"midnight"} if hour == 0 else set()
        return any(f" {spelling} " in text.line for text in self.texts for spelling in spoken)

    def _is_composed(self, name: str, text: str) -> bool:
        """Whether a text is the model's own wording and the context contains all its words with digits."""
        words = folded(text)
        if not is_free_text(name) and (len(words) < _MANY_WORDS or not self._shares_words(words)):
            return False
        numbered = (word for word in words if any(map(str.isdigit, word)) and not _YEAR.fullmatch(word))
        return all(
            len(word) < _MANY_WORDS
            or any(word in known_text.words for known_text in self.texts)
            or self._is_number(word)
            for word in numbered
        )

    def _shares_words(self, words: Sequence[str]) -> bool:
        """Whether at least half of the words of four letters and more are in the context."""
        long_words = [word for word in words if len(word) >= 4] or list(words)
        return 2 * sum(any(word in text.words for text in self.texts) for word in long_words) >= len(long_words)

    def _is_number(self, word: str) -> bool:
        number = _as_number(word)
        return number is not None and self.has_number(number)

    def _may_be_translated(self, text: str) -> bool:
        scripts = scripts_of(text)
        if bool(scripts) and bool(scripts_of(self.user_words) - scripts):
            return True
        return _ENGLISH_NAME.fullmatch(text) is not None and _is_foreign(self.user_words)


def is_free_text(name: str) -> bool:
    """Whether a parameter of this name has text that the model composes, such as a query or a subject."""
    return _FREE_TEXT.fullmatch(_CAMEL.sub("_", name)) is not None


def _share_a_beginning(first: str, other: str) -> bool:
    """Whether a word continues the other, or both continue the same four letters by few."""
    short, long = sorted((first, other), key=len)
    if long.startswith(short):
        return len(short) >= _MIN_PREFIX_CHARS - 1
    return long[:_MIN_PREFIX_CHARS] == short[:_MIN_PREFIX_CHARS] and len(long) <= 3 * _MIN_PREFIX_CHARS


def allowed_key(value: Json) -> str:
    """The key by which a value of an enum or a default is compared: case-insensitive; 5 and 5.0 are equal."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip().casefold()


def scripts_of(text: str) -> frozenset[Script]:
    """The scripts of the letters of a text, of which each must have two: Latin ones, and all others."""
    letters = "".join(filter(str.isalpha, text[:_MAX_LETTERS]))
    latin = len(letters) if letters.isascii() else sum(letter < "\u0250" for letter in letters)
    counts = ((Script.LATIN, latin), (Script.OTHER, len(letters) - latin))
    return frozenset(script for script, count in counts if count > 1)


def _is_foreign(text: str) -> bool:
    """Whether a text in Latin letters has two function words of another language than English, and more than of it.

    A short request needs only one and none of English, if no name has it (`Wetter in Wien bitte`, not `in La Paz`).
    """
    words = set(folded(text))
    foreign, english = words & _FOREIGN, words & _ENGLISH
    is_short = not english and len(words) <= _SHORT_WORDS
    return len(foreign) > max(1, len(english)) or (is_short and any(word in foreign for word in text.split()))


def _as_number(text: str) -> float | None:
    match = _NUMBER.match(text)
    if match is None or match.end() != len(text.rstrip("%")):
        return None
    return _parsed(match[0])


def _parsed(digits: str) -> float | None:
    try:
        return float(re.sub(r"[,_ \u202f']", "", digits).replace("−", "-"))
    except ValueError:
        return None


def _digit_numbers(text: str) -> Iterable[float]:
    for match in _NUMBER.finditer(text):
        value = _parsed(match[0])
        if value is None:
            continue
        yield value
        if scale := _SCALE.match(text, match.end()):
            yield value * _SCALES[scale[1].lower()]


def _word_numbers(words: Sequence[str]) -> Iterable[float]:
    """The numbers written as words: `five`, `twenty five`, `two hundred`."""
    for index, word in enumerate(words):
        value = _WORD_VALUES.get(word)
        if value is None:
            continue
        yield value
        after = words[index + 1] if index + 1 < len(words) else ""
        if word in _TENS and 0 < _WORD_VALUES.get(after, 0) < 10:
            yield value + _WORD_VALUES[after]
        if after in _MULTIPLIERS:
            yield value * _MULTIPLIERS[after]


def _dates(text: str) -> Iterable[date]:
    for match in _ISO_DATE.finditer(text):
        try:
            yield date(int(match[1]), int(match[2]), int(match[3]))
        except ValueError:
            continue


_CURRENCIES = (
    "aed afn all amd ang aoa ars aud awg azn bam bbd bdt bgn bhd bif bmd bnd bob brl bsd btn bwp byn bzd cad cdf chf "
    "clp cny cop crc cup cve czk djf dkk dop dzd egp ern etb eur fjd fkp gbp gel ghs gip gmd gnf gtq gyd hkd hnl htg "
    "huf idr ils inr iqd irr isk jmd jod jpy kes kgs khr kmf kpw krw kwd kyd kzt lak lbp lkr lrd lsl lyd mad mdl mga "
    "mkd mmk mnt mop mru mur mvr mwk mxn myr mzn nad ngn nio nok npr nzd omr pab pen pgk php pkr pln pyg qar ron rsd "
    "rub rwf sar sbd scr sdg sek sgd shp sle sos srd ssp stn svc syp szl thb tjs tmt tnd top try ttd twd tzs uah ugx "
    "usd uyu uzs ves vnd vuv wst xaf xau xag xcd xof xpf yer zar zmw zwl"
)
_COUNTRIES = (
    "ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq br bs bt bv bw by bz ca "
    "cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg eh er es et fi fj fk fm fo fr ga "
    "gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp "
    "ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo mp mq mr ms "
    "mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs "
    "ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw "
    "tz ua ug um us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw"
)
_COUNTRIES_OF_THREE = (
    "afg ago aia alb and are arg arm asm aus aut aze bdi bel ben bfa bgd bgr bhr bhs bih blr blz bmu bol bra brb brn "
    "btn bwa caf can che chl chn civ cmr cod cog col com cpv cri cub cyp cze deu dji dma dnk dom dza ecu egy eri esp "
    "est eth fin fji fra gab gbr geo gha gin gmb gnb gnq grc grd gtm guy hkg hnd hrv hti hun idn ind irl irn irq isl "
    "isr ita jam jor jpn kaz ken kgz khm kir kna kor kwt lao lbn lbr lby lca lie lka lso ltu lux lva mac mar mco mda "
    "mdg mdv mex mkd mli mlt mmr mne mng moz mrt mus mwi mys nam ner nga nic nld nor npl nru nzl omn pak pan per phl "
    "png pol pri prk prt pry pse qat rou rus rwa sau sdn sen sgp slb sle slv smr som srb ssd sur svk svn swe swz syc "
    "syr tcd tgo tha tjk tkm tls ton tto tun tur tuv twn tza uga ukr ury usa uzb vat vct ven vnm vut wsm yem zaf zmb "
    "zwe"
)
_LANGUAGES = (
    "aa ab af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cv cy da de dv dz ee el en eo es "
    "et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg "
    "ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl "
    "nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv "
    "sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
_CODES = frozenset(f"{_CURRENCIES} {_COUNTRIES} {_COUNTRIES_OF_THREE} {_LANGUAGES}".split())


def _is_code(text: str) -> bool:
    return _CODE.fullmatch(text) is not None and not is_placeholder(text, may_be_a_word=True)


def is_iso_code(text: str) -> bool:
    """Whether a text is an ISO code of a currency, a country or a language, or a locale such as `en-US`."""
    if len(text) in (2, 3):
        return text.lower() in _CODES
    language, _, country = text.replace("_", "-").partition("-")
    return len(text) == 5 and language.lower() in _CODES and country.lower() in _CODES
