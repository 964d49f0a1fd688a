"""Secrets go, in headers, addresses, bodies and streams; everything else stays, and every text keeps its length."""

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.redaction.secrets_made_up import INTRODUCED, KEYS, STAYS, filled
from tests.strategies import texts
from weaklink.inspector.model import (
    Chunk,
    ErrorPhase,
    ExternalId,
    Generation,
    GenerationError,
    Part,
    Provenance,
    ResultHeader,
    Role,
    ToolDefinition,
    Trace,
    Turn,
)
from weaklink.inspector.redaction import finding, names
from weaklink.inspector.redaction.masking import SecretStream
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.inspector.redaction.rules import words
from weaklink.inspector.redaction.secret_values import Secret

_KEYS = pytest.mark.parametrize(("prefix", "secret"), KEYS.values(), ids=KEYS)
_INTRODUCED = pytest.mark.parametrize(("before", "secret", "after"), INTRODUCED.values(), ids=INTRODUCED)
_PLACES = {
    "alone": ("", ""),
    "prose": ("Use ", " for it."),
    "address": ("https://example.com/v1/models?x=", "&alt=sse"),
    "JSON": ('{"note": "', '"}'),
    "escaped JSON": ('{\\"note\\": \\"', '\\"}'),
    "call": ('<tool_call>\n{"name": "f", "arguments": {"a": "', '"}}\n</tool_call>'),
    "YAML": ("- ", "\n- next"),
}


@_KEYS
@pytest.mark.parametrize("place", _PLACES)
def test_key_goes_wherever_it_stands(prefix: str, secret: str, place: str) -> None:
    before, after = _PLACES[place]
    redacted = Redactor().text(f"{before}{prefix}{secret}{after}")
    assert redacted.startswith(before)
    assert redacted.endswith(after)
    kept = redacted[len(before) : len(redacted) - len(after)]
    assert len(kept) == len(prefix + secret)
    assert re.fullmatch(r"[A-Za-z0-9_.-]{0,20}\*+", kept)
    assert secret not in redacted


@_INTRODUCED
def test_introduced_secret_goes(before: str, secret: str, after: str) -> None:
    assert Redactor().text(before + secret + after) == before + filled(secret) + after


@pytest.mark.parametrize("text", STAYS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Redactor().text(text) == text


def test_json_stays_json() -> None:
    rows = {
        name: "".join(parts) for name, parts in (INTRODUCED | {key: (*both, "") for key, both in KEYS.items()}).items()
    }
    assert json.loads(Redactor().text(json.dumps(rows))).keys() == rows.keys()


@_INTRODUCED
def test_cut_anywhere_gives_the_same(before: str, secret: str, after: str) -> None:
    text = f"Look: {before}{secret}{after} and on."
    for cut in range(len(text) + 1):
        assert _streamed([text[:cut], text[cut:]]) == Redactor().text(text)
    assert _streamed(list(text)) == Redactor().text(text)


@_KEYS
def test_key_cut_anywhere_goes(prefix: str, secret: str) -> None:
    text = f"Look: {prefix}{secret} and on."
    for cut in range(len(text) + 1):
        assert _streamed([text[:cut], text[cut:]]) == Redactor().text(text)
    assert _streamed(list(text)) == Redactor().text(text)


_SHAPED = st.sampled_from(
    [
        *("".join(one) for one in INTRODUCED.values()),
        *("".join(one) for one in KEYS.values()),
        *STAYS,
        *(one[0] for one in INTRODUCED.values()),
        *("<token>", '<token id="', '">', "<password ", ">", "&gt;", "</token>", "&lt;secret a='", "'"),
        *("sk-", "://", "a:b@c", "api_key", "=", " ", "\n", '"', "token", "x" * 30, "1" * 30, "Bearer "),
    ]
)


@given(st.lists(_SHAPED | texts(max_size=2), max_size=6).map("".join), st.lists(st.integers(0, 400), max_size=12))
def test_chunks_do_not_matter(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[start:end] for start, end in pairwise(places)]
    whole = Redactor().text(text)
    assert _streamed(pieces) == whole
    assert len(whole) == len(text)
    assert Redactor().text(whole) == whole


_KEY = "ghp_" + "A1b2C3d4" * 4
_SEVERAL = {
    "token as user": (f"curl -u {_KEY}:x-oauth-basic https://api.example", [_KEY, "oauth-basic"]),
    "token as quoted user": (f"curl --user '{_KEY}:' https://api.example/v1", [_KEY]),
    "quoted user and password": ("curl --user 'joe:Tr0ub4dor3' https://api.example/v1", ["Tr0ub4dor3"]),
    "token as user of an address": (f"git clone https://{_KEY}:x-oauth-basic@git.example/a", [_KEY, "oauth-basic"]),
    "token and password of an address": ("s3://AKIAQ3EGR2AB4CD5EF6G:Tr0ub4dor3@bucket/x", ["Q3EGR2AB", "Tr0ub4dor3"]),
    "password before a password": ("mysql --password=Tr0ub4dor3 -phunter22x shop", ["Tr0ub4dor3", "hunter22x"]),
    "key before a password": (f"mysql {_KEY} -phunter22x", [_KEY, "hunter22x"]),
    "token before a password": ("docker login -u x token=Ab1Cd2Ef3Gh4 -p hunter22x", ["Ab1Cd2Ef3Gh4", "hunter22x"]),
    "address before a password": ("mysql https://joe:Tr0ub4dor3@db -phunter22x", ["Tr0ub4dor3", "hunter22x"]),
    "key in a tag of a secret": (f'< a="b" password {_KEY}>', [_KEY]),
    "command behind another": (r"mysql -phunter22x a\nsshpass -p Tr0ub4dor3 ssh b", ["Tr0ub4dor3", "hunter22x"]),
    "key in a tag, and its value": (f'<token id="{_KEY}">s3cr3tvalue</token>', [_KEY, "s3cr3tvalue"]),
    "two keys in a tag": (f'<api_key a="{_KEY}" b={_KEY}>\n  s3cr3tvalue</api_key>', [_KEY, "s3cr3tvalue"]),
    "password in a tag of a token": ('<token password="Tr0ub4dor3">s3cr3tvalue</token>', ["Tr0ub4dor3", "s3cr3tvalue"]),
    "key and words in a tag": (f"<secret>{_KEY} Tr0ub4dor3</secret>", [_KEY, "Tr0ub4dor3"]),
    "key in an escaped tag": (f'&lt;token id="{_KEY}"&gt;s3cr3tvalue&lt;/token&gt;', [_KEY, "s3cr3tvalue"]),
    "key before a tag": (f"{_KEY}<token>s3cr3tvalue</token>", [_KEY, "s3cr3tvalue"]),
    "key in a long tag": (f'<token a="{"b" * 150}" id="{_KEY}">s3cr3tvalue</token>', [_KEY, "s3cr3tvalue"]),
    "key before an option": (f"redis-cli -h {_KEY} -a hunter22x ping", [_KEY, "hunter22x"]),
}


@pytest.mark.parametrize("name", _SEVERAL)
def test_two_secrets_of_one_command_both_go_however_it_is_cut(name: str) -> None:
    text, secrets = _SEVERAL[name]
    whole = Redactor().text(text)
    assert not any(secret in whole for secret in secrets), whole
    assert "https://api.example" in whole or "https://api.example" not in text
    for cut in range(len(text) + 1):
        assert _streamed([text[:cut], text[cut:]]) == whole
    assert _streamed(list(text)) == whole


_PIECES = (
    *("the", " harbour.", " In 1890", " fish", "ermen", ",", " o'clock", ": ", '"', "'", " password", " is", " Bearer"),
    *(" abcdefgh", "ijkl1Mno2Pqr", " dapi", " cio", " sk", "0a1b2c3d" * 4, "Ab1" * 12, "-proj-", " api", "_key", "="),
    *(
        " token",
        " -",
        "-password",
        " -u",
        " Tr0ub4dor",
        "&3xtra",
        " https",
        "://",
        "joe:hunter22",
        "@host",
        "\n",
        " AKIA",
    ),
    *(" earer", "B", "be", "arer", " mysql", " -p", " secret", "<", ">", " basic", " --user", f" {_KEY}"),
)
_WORD_PIECES = st.lists(st.sampled_from(_PIECES), max_size=24)


@given(_WORD_PIECES, st.integers(1, 5))
def test_plain_words_in_pieces_give_what_the_whole_text_gives(words: list[str], at_once: int) -> None:
    pieces = ["".join(words[at : at + at_once]) for at in range(0, len(words), at_once)]
    assert _streamed_as_recorded(pieces) == Redactor().text("".join(words))


@pytest.mark.parametrize("form", [str.lower, str.capitalize, str.title])
@pytest.mark.parametrize("name", [*words("passwords"), "pwd", "pw", "pass", "verification code", "seed phrase"])
def test_a_name_within_plain_words_is_found_however_they_are_cut(name: str, form: Callable[[str], str]) -> None:
    for value in (" 774411", " is 774411", " hunter22x", " is Qx7vB2mN9"):
        text = f"{' the boats sort what they had' * 6} the new {form(name)}{value} and more words follow here"
        for size in (1, 4, 20):
            pieces = [text[at : at + size] for at in range(0, len(text), size)]
            assert _streamed(pieces) == Redactor().text(text)


def test_a_long_secret_goes_to_its_end() -> None:
    text = "Bearer " + "Ab1" * 20_000 + " end"
    pieces = [text[at : at + 7] for at in range(0, len(text), 7)]
    assert _streamed(pieces) == "Bearer " + "*" * 60_000 + " end"


@pytest.mark.parametrize("character", "Aa1")
def test_a_word_in_which_one_character_repeats_is_judged_in_a_few_steps(character: str) -> None:
    word = f"iVBORw0KGgo{character * 60}12345xy"  # as in the base64 of an image: its steps must not double with each
    for text in (f"the password {word} is", f"sshpass -p {word}", f"my token is {word}"):
        assert Redactor().text(text).count("*") == len(word)


def test_plain_text_is_not_held_back() -> None:
    stream = SecretStream()
    assert stream.feed("The weather in Oslo is fine, ") == "The weather in Oslo is fine, "
    assert stream.feed("take sk-") == "take "
    assert stream.feed("A1b2") == ""
    assert stream.feed(" no key") == "sk-A1b2 no key"


def test_chunks_keep_their_order_over_all_parts() -> None:
    secret = "".join(KEYS["sk-"])
    chunks = [
        Chunk(0, "text", f"key {secret[:9]}", 0.1, token_ids=(1,)),
        Chunk(1, "reasoning", "I wonder.", 0.2, token_ids=(2,)),
        Chunk(2, "text", f"{secret[9:]} is it", 0.3, token_ids=(3,)),
    ]
    turn = Redactor().new_turn()
    assert turn.feed(chunks[:2]) == ()
    out = (*turn.feed(chunks[2:]), *turn.close())
    assert [chunk.sequence for chunk in out] == [0, 1, 2]
    assert "".join(chunk.text for chunk in out if chunk.part == "text") == f"key sk-{'*' * 36} is it"
    assert [chunk.token_ids for chunk in out] == [None, (2,), None]


def test_own_patterns_go_too() -> None:
    redactor = Redactor([r"customer-(\d+)", "Oslo"])
    assert redactor.text("customer-4711 in Oslo") == "customer-**** in ****"
    assert redactor.count == 2


@pytest.mark.parametrize(("pattern", "words"), [("(", "not a valid regular"), ("a*", "matches the empty string")])
def test_bad_pattern_is_refused_in_words(pattern: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Redactor([pattern])


def test_everything_a_trace_says_is_redacted() -> None:
    secret = "".join(KEYS["sk-proj-"])
    tool = ToolDefinition(
        "f", f"Use {secret}", {"type": "object", "default": secret}, f'{{"name": "f", "x": "{secret}"}}'
    )
    generation = Generation(
        tools=(tool,), parameters=f'{{"user": "{secret}"}}', error=GenerationError(ErrorPhase.HTTP, f"bad {secret}")
    )
    turn = Turn(Role.ASSISTANT, (Part("text", secret),), result=ResultHeader(secret, secret), generation=generation)
    trace = Trace(
        (turn,),
        name=secret,
        external_ids=(ExternalId("x", secret),),
        provenance=Provenance(file=f"/a/{secret}", warnings=(secret,)),
    )
    assert secret in repr(trace)
    assert secret not in repr(Redactor().trace(trace))


def _streamed(pieces: list[str]) -> str:
    stream = SecretStream()
    return "".join([*(stream.feed(piece) for piece in pieces), stream.close()])


def _streamed_as_recorded(pieces: list[str]) -> str:
    turn = Redactor().new_turn()
    out = [chunk for number, piece in enumerate(pieces) for chunk in turn.feed([Chunk(number, "text", piece, 0.0)])]
    return "".join(chunk.text for chunk in (*out, *turn.close()))


def test_token_strings_go_where_the_text_was_redacted() -> None:
    key = "sk-proj-" + "a1B2" * 10
    line = json.dumps({"part": "text", "index": 0, "tokens": [key[:10], key[10:]]})
    for text, is_kept in ((f"the key is {key}", False), ("the key is mine", True)):
        turn = Turn(Role.ASSISTANT, (Part("text", text), Part("wire:tokens", f"{line}\n" if not is_kept else "{}\n")))
        clean = Redactor().turn(turn)
        assert [part.name for part in clean.parts] == ["text", "wire:tokens"]
        assert (clean.parts[1].text == "") is not is_kept
        assert Redactor().turn(clean) == clean


def test_an_escaped_letter_whose_lower_case_is_longer_is_read() -> None:
    """Lower case of a capital I with a dot has two characters."""
    text = r"\u0130\u041f\u0410\u0420\u041e\u041b\u042c: x7y8z9w0"
    assert Redactor().text(text) == text.replace("x7y8z9w0", "********")


@given(st.text(alphabet="PaSsWoRd:= \u0130\u03a3\u041f\u0410\u0420\u041e\u041b\u042c\ud83d：", max_size=60))
def test_the_view_of_a_text_is_ascii_in_lower_case_and_of_the_same_length(text: str) -> None:
    view = names.view(text)
    assert view.isascii()
    assert view == view.lower()
    assert len(view) == len(text)


@pytest.mark.parametrize("word", ["пароль", "Пароль", "ПАРОЛЬ", "Contraseña", "CONTRASEÑA", "Mật Khẩu", "密码"])
def test_a_word_of_another_script_is_a_name_in_any_case(word: str) -> None:
    for text in (
        f"{word}: x7y8z9w0",
        json.dumps({"a": f"{word}: x7y8z9w0"}),
        json.dumps(json.dumps({word: "x7y8z9w0"})),
    ):
        assert Redactor().text(text) == text.replace("x7y8z9w0", "*" * 8)


def test_a_tool_that_was_found_clean_does_not_hide_another_one() -> None:
    """Every request offers the same tools: those that were searched are not searched again, others are."""
    clean = ToolDefinition("search", raw='{"name": "search"}')
    secret = ToolDefinition("login", "password: Tr0ub4dor3xtra", raw='{"name": "login"}')
    redactor = Redactor()
    for tools in ((clean,), (clean,), (clean, secret), (clean, secret)):
        turn = Turn(Role.ASSISTANT, (), generation=Generation(tools=tools))
        redacted = redactor.turn(turn)
        assert redacted.generation
        assert [tool.description for tool in redacted.generation.tools] == ["", "password: " + "*" * 14][: len(tools)]


def test_texts_of_any_length_are_searched_once_and_turns_without_a_secret_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    long = Turn(Role.TOOL, (Part("text", "word " * 5_000 + "/etc/password_file_of_4_hosts"),))
    secret = Turn(Role.USER, (Part("text", "password: Tr0ub4dor3xtra"),))
    trace, redactor = Trace((long, secret, long)), Redactor()
    searched: list[str] = []

    def search(texts: Iterable[str]) -> Iterator[tuple[str, list[Secret]]]:
        for text, secrets in finding.secrets_of(texts):
            searched.append(text)
            yield text, secrets

    monkeypatch.setattr(f"{Redactor.__module__}.secrets_of", search)
    for _ in range(2):
        turns = redactor.trace(trace).turns
        assert turns[0] is turns[2] is long
        assert turns[1].parts[0].text == "password: " + "*" * 14
    assert searched.count(long.parts[0].text) == 1


def test_texts_that_are_searched_together_have_the_secrets_that_each_has_alone() -> None:
    """Whatever is around a text in the one search for signs."""
    rng = random.Random(1)
    pieces = (
        "password",
        ": ",
        "Tr0ub4dor3xtra",
        "ghp_" + "a1B2" * 9,
        "token",
        " ",
        "\n",
        "\0",
        "é",
        "%70",
        "x" * 600,
        "",
    )
    texts = ["".join(rng.choices(pieces, k=rng.randint(0, 6))) for _ in range(3_000)]
    together = dict(finding.secrets_of(texts))
    for text in texts:
        finder = finding.Finder(text)
        finder.scan(is_final=True)
        assert together[text] == finder.found()
    assert any(together.values())


@pytest.mark.parametrize(
    "text", [r"X\U041F\U0430\U0440\U043E\U043B\U044C: Berezka.2041", r'{"\U0070\U0061ssword": "Berezka.2041"}']
)
def test_escapes_in_capitals_hide_no_name(text: str) -> None:
    assert "Berezka" not in Redactor().text(text)
