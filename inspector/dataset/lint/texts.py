"""D717, D718, and the languages of texts: ISO 639-1 codes, by script if that is unambiguous, otherwise by py3langid.

py3langid (a model of character sequences for 140 languages, offline and deterministic) is used because lingua's models
take 100 MB and langdetect is not deterministic unless it is seeded. It is loaded for the first text that needs it;
without it, only scripts are distinguished. Nigerian Pidgin is left out: of short English questions it takes up to half
the probability.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any, Protocol

from weaklink.inspector.checks.context import CONTEXT_WINDOW
from weaklink.inspector.dataset.data_files import missing_library
from weaklink.inspector.dataset.samples import Sample
from weaklink.inspector.diagnostics import Diagnostic, Fault
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.inspection import REASONING_BUDGET
from weaklink.inspector.model import Role, SpanKind
from weaklink.inspector.rules.training import CUT_BY_BUDGET, LANGUAGE_MISMATCH
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

MIXED = "mixed"
_MARKUP = lazy_pattern(
    r"""
      ```.*?(?:```|\Z) | `[^`\n]*`              # code
    | https?://\S+ | \S+@\S+                    # addresses
    | <[^<>\n]{1,200}> | \{[^{}]*\}             # tags and objects
    | [\[\]{}|*\#_]
    """,
    re.DOTALL | re.VERBOSE,
)
_SIGNS_OF_MARKUP = b"`:@<{}[]|*#_"  # every match of _MARKUP has one
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())
_LETTERS = lazy_pattern(r"[^\W\d_]")
_SCRIPTS = (
    ("ja", lazy_pattern(r"[\u3040-\u30ff]")),
    ("ko", lazy_pattern(r"[\u1100-\u11ff\uac00-\ud7af]")),
    ("zh", lazy_pattern(r"[\u4e00-\u9fff\u3400-\u4dbf]")),
    ("th", lazy_pattern(r"[\u0e00-\u0e7f]")),
    ("el", lazy_pattern(r"[\u0370-\u03ff]")),
    ("he", lazy_pattern(r"[\u0590-\u05ff]")),
)
_LATIN = lazy_pattern(r"[A-Za-zÀ-ɏ]")
_SENTENCE = lazy_pattern(r"[.!?。！？\n]+")
_WORDS = lazy_pattern(r"[a-z']+")
_ENGLISH = frozenset(
    (
        *("the", "of", "and", "is", "are", "was", "you", "your", "what", "which"),
        *("how", "with", "for", "this", "that", "it", "its", "to", "from", "have"),
        *("has", "can", "could", "would", "please", "there", "when", "where", "been", "will"),
        "should",
    )
)
_MIN_LETTERS = 60
_MIN_IDEOGRAMS = 8
_MIN_CONFIDENCE = 0.98
_MIN_ANSWER_LETTERS, _MIN_SHORT_LETTERS = 40, 20
_LIKELY, _FAIRLY_LIKELY, _UNLIKELY = 0.9, 0.7, 0.001
_MIN_FUNCTION_WORDS = 2
_NAMES = lazy_pattern(
    r"\b(?:english|french|german|spanish|italian|portuguese|chinese|mandarin|cantonese|japanese|korean|russian|arabic|"
    r"hindi|dutch|polish|turkish|vietnamese|thai|swedish|norwegian|danish|finnish|greek|hebrew|ukrainian|czech|latin|"
    r"indonesian|malay|bengali|persian|urdu|tamil|hungarian|romanian|translat\w*|language|tradu\w+|anglais|français|"
    r"deutsch|englisch\w*|französisch\w*|übersetz\w*|inglés|español|inglese|italiano|por favor en)\b"
    r"|翻译|翻譯|英文|英语|中文|日文|日语|法语|德语|用.{1,3}语|英語|日本語|訳|영어|번역|한국어|перев\w+|английск\w+|русск\w+",
    re.IGNORECASE,
)
"""The name of a language, or a word for translating: then two languages in one conversation are intended."""

_TURN_TOKENS = 4  # the tokens that templates add to a turn: its header and its end


def language_mismatch(sample: Sample) -> Iterator[Diagnostic]:
    """D718 for the final answer."""
    turns = sample.trace.turns
    if not turns or turns[-1].role is not Role.ASSISTANT:
        return
    part = turns[-1].part("text")
    answer = "".join(sample.texts(Role.ASSISTANT)[-1:])
    answer_language = language_of(answer, fewest_letters=_MIN_ANSWER_LETTERS) if part is not None else None
    if part is None or answer_language == MIXED:
        return
    user = "\n".join(sample.texts(Role.USER))
    user_language: str | None = None
    if answer_language is not None:
        user_language = language_of(user) or _other_language(user, answer_language)
    if user_language is None:
        user_language, answer_language = _different_languages(user, answer) or (None, None)
    if user_language in (None, MIXED, answer_language) or any(map(_NAMES.search, (user, *sample.texts(Role.SYSTEM)))):
        return
    message = f"The user writes in `{user_language}`, but the answer is in `{answer_language}`."
    yield Fault(LANGUAGE_MISMATCH, Range(0, len(part.text)), message).at(len(turns), part.name)


def _other_language(text: str, answer_language: str) -> str | None:
    """The language of a short text if it is surely not the answer's; None if it may be.

    The language is less certain than in a longer text, and must have a probability of 0.9, but that of the answer's
    language must be below 0.001: so it was for none of 1,480 English questions of the Berkeley leaderboard with 20 to
    59 letters that the other language was not English.
    """
    plain = _without_markup(text)
    if _letters(plain) < _MIN_SHORT_LETTERS or (answer_language == "en" and _may_be_english(plain)):
        return None
    identifier = _identifier()
    if identifier is None:
        return None
    code, probability = identifier.classify(plain)
    if code == answer_language or probability < _LIKELY:
        return None
    return str(code) if dict(identifier.rank(plain)).get(answer_language, 1.0) < _UNLIKELY else None


def _different_languages(user: str, answer: str) -> tuple[str, str] | None:
    """The languages of two short texts if neither may be in the other's language; None if one may be.

    Each has a probability of 0.7, and that of the other text's language is below 0.001: an answer that names foreign
    songs or places still has some probability of being in the user's language.
    """
    texts = [_without_markup(text) for text in (user, answer)]
    letters = [_letters(text) for text in texts]
    if letters[0] < _MIN_SHORT_LETTERS or letters[1] < _MIN_ANSWER_LETTERS:
        return None
    identifier = None if all(map(_may_be_english, texts)) else _identifier()
    if identifier is None:
        return None
    ranks = [identifier.rank(text[:2_000]) for text in texts]
    (asked, asked_share), (said, said_share) = ranks[0][0], ranks[1][0]
    if asked == said or min(asked_share, said_share) < _FAIRLY_LIKELY:
        return None
    if dict(ranks[0]).get(said, 1.0) >= _UNLIKELY or dict(ranks[1]).get(asked, 1.0) >= _UNLIKELY:
        return None
    return str(asked), str(said)


def _may_be_english(text: str) -> bool:
    return sum(word in _ENGLISH for word in _WORDS.findall(text.lower())) >= _MIN_FUNCTION_WORDS


def _without_markup(text: str) -> str:
    """The text with a space for each piece of markup."""
    if text.isascii() and len(text.encode().translate(None, _SIGNS_OF_MARKUP)) == len(text):
        return text
    return _MARKUP.sub(" ", text)


def _letters(text: str) -> int:
    """The number of letters; an ASCII text is counted at once."""
    if text.isascii():
        return len(text.encode().translate(None, _NO_LETTERS))
    return len(_LETTERS.findall(text))


def language_of(text: str, *, fewest_letters: int = _MIN_LETTERS, certain: float = _MIN_CONFIDENCE) -> str | None:
    """The ISO 639-1 code of a text's language; `mixed` for several scripts, None if the language is uncertain.

    Code, addresses and markup do not count. If the script alone does not determine the language, the text needs
    `fewest_letters` and the language a probability of at least `certain`.
    """
    if len(text) < min(fewest_letters, _MIN_IDEOGRAMS):
        return None
    plain = _without_markup(text)
    if plain.isascii() and len(plain) < fewest_letters:
        return None
    letters = _letters(plain)
    for code, pattern in () if plain.isascii() else _SCRIPTS:
        ideograms = len(pattern.findall(plain))
        if ideograms >= _MIN_IDEOGRAMS and ideograms >= 0.1 * letters:
            return MIXED if _is_mixed(plain, letters) else code
    return _classified(plain, certain) if letters >= fewest_letters else None


def _is_mixed(plain: str, letters: int) -> bool:
    """Whether whole sentences are in Latin letters, and not only names within sentences of another script."""
    sentences = [part for part in _SENTENCE.split(plain) if _letters(part) >= 20]
    latin = [sentence for sentence in sentences if len(_LATIN.findall(sentence)) > 0.9 * _letters(sentence)]
    return bool(latin) and len(latin) < len(sentences) and sum(map(len, latin)) > 0.2 * letters


def _is_english(text: str) -> bool:
    """Whether enough words are English function words that the model is not needed."""
    words = _WORDS.findall(text.lower()[:2_000])
    return text.isascii() and len(words) >= 8 and sum(word in _ENGLISH for word in words) >= 0.2 * len(words)


def _classified(text: str, certain: float) -> str | None:
    if _is_english(text):
        return "en"
    identifier = _identifier()
    if identifier is None:
        return None
    code, probability = identifier.classify(text[:2_000])
    return str(code) if probability >= certain else None


@cache
def _identifier() -> Any:
    """The model, or None if the library is not installed."""
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415  # 300 ms, and optional
    except ImportError:
        return None
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([code for code in identifier.nb_classes if code != "pcm"])
    return identifier


def require_detector() -> None:
    """Raises MissingLibraryError if py3langid, which distinguishes languages of one script, is not installed."""
    if find_spec("py3langid") is None:
        raise missing_library("py3langid", "Distinguishing languages of one script")


class TokenCounter(Protocol):
    """Counts the tokens of a text."""

    def count(self, text: str) -> int:
        """The number of tokens of the text, without special tokens around it."""
        ...


class TokenizerFile:
    """Counts tokens with a `tokenizer.json`. Raises UnreadableFileError for a bad file, and MissingLibraryError."""

    def __init__(self, path: str) -> None:
        try:
            from tokenizers import Tokenizer  # noqa: PLC0415  # 40 ms, and optional
        except ImportError as error:
            raise missing_library("tokenizers", "Counting tokens") from error
        try:
            self._tokenizer = Tokenizer.from_file(path)
        except Exception as error:  # the library raises bare Exception
            raise UnreadableFileError(f"cannot read {path} as a tokenizer.json: {error}") from error

    def count(self, text: str) -> int:
        """The number of tokens of the text."""
        return len(self._tokenizer.encode(text.encode("utf-8", "replace").decode(), add_special_tokens=False))


def token_count(sample: Sample, counter: TokenCounter) -> int:
    """The number of tokens of the whole conversation with its tools; the markup of each turn counts as four."""
    texts = [part.text for turn in sample.trace.turns for part in turn.parts]
    if sample.offered.origin != "system":
        texts += [tool.raw for tool in sample.offered.tools]
    return sum(map(counter.count, texts)) + _TURN_TOKENS * len(sample.trace.turns)


def cut_by_budget(
    sample: Sample, counter: TokenCounter, context: int = CONTEXT_WINDOW, reasoning: int = REASONING_BUDGET
) -> Iterator[Diagnostic]:
    """D717: the conversation is longer than `context` tokens, or one turn's reasoning is longer than `reasoning`."""
    total, turns = 0, sample.trace.turns
    tools = 0 if sample.offered.origin == "system" else sum(counter.count(tool.raw) for tool in sample.offered.tools)
    cut_at = 0
    for number, turn in enumerate(turns, 1):
        before = total
        for part in turn.parts:
            total += counter.count(part.text)
        total += _TURN_TOKENS
        if before + tools <= context < total + tools and turn.parts:
            cut_at = number
    if cut_at:
        part = turns[cut_at - 1].parts[0]
        size = total + tools
        message = f"The sample has {size:,} tokens, but the context has {context:,}; it is truncated in turn {cut_at}."
        yield Fault(CUT_BY_BUDGET, Range(0, len(part.text)), message).at(cut_at, part.name)
    yield from _long_reasoning(sample, counter, reasoning)


def _long_reasoning(sample: Sample, counter: TokenCounter, budget: int) -> Iterator[Diagnostic]:
    for inspected in sample.inspection.parts:
        turn = sample.trace.turns[inspected.turn - 1]
        part = turn.part(inspected.part) if turn.role is Role.ASSISTANT else None
        for span in inspected.spans if part is not None else ():
            if part is None or not (span.kind is SpanKind.REASONING or part.name == "reasoning"):
                continue
            if len(span.range) > budget and (tokens := counter.count(span.inner.of(part.text))) > budget:
                message = f"The reasoning has {tokens:,} tokens, but the budget is {budget:,}."
                yield Fault(CUT_BY_BUDGET, span.range, message).at(inspected.turn, inspected.part)
