"""A name and its value in neighbouring elements: of every format's calls, of XML, HTML, JSON and YAML."""

import json
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from weaklink.inspector import ToolCall, ToolCallParser
from weaklink.inspector.formats.registry import formats
from weaklink.inspector.redaction.masking import SecretStream
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.inspector.text import Range

_NAMES = ("password", "api_key", "db_token")
_WORDS = ("sunshine", "correct horse battery", "Tr0ub4dor&3xtra")
_FORMATS = [known.name for known in formats()]
_CALL = ToolCall("save", {}, "{}", valid=True, range=Range(0, 0))
_NEIGHBOURS = (
    *("<arg_key>{n}</arg_key>\n<arg_value>{v}</arg_value>", "<key>{n}</key><string>{v}</string>"),
    *("<td>{n}</td><td>{v}</td>", "<dt>{n}</dt>\n<dd>{v}</dd>", '<th scope="row">{n}</th>\n  <td class="x">{v}</td>'),
    *("<name>{n}</name>\n<value>{v}</value>", "<name>{n}</name><type>string</type><value>{v}</value>"),
    *('<add key="{n}" value="{v}"/>', '<param name="{n}" type="string" value="{v}">', "<p k='{n}' v='{v}'/>"),
    *('<param value="{v}" name="{n}">', '<input name="{n}" id="x" type="text" class="y" value="{v}">'),
    *('{{"key": "{n}", "value": "{v}"}}', '{{"value": "{v}", "key": "{n}"}}', '{{"name": "{n}", "data": "{v}"}}'),
    *('{{"name": "{n}", "type": "string", "required": true, "value": "{v}"}}',),
    *('{{"k": "{n}", "v": "{v}"}}', '{{"Key": "{n}",\n  "Value": "{v}"}}'),
    *('{{"value": "{v}", "type": "text", "name": "{n}"}}', '{{"field": "{n}", "old": null, "new": "{v}"}}'),
    *("- name: {n}\n  value: {v}\n", "- value: {v}\n  name: {n}\n", '- key: {n}\n  description: x\n  value: "{v}"\n'),
    *("name: {n}\ntype: text\nvalue: {v}\n", "NAME={n} VALUE={v}"),
)


def _streamed(*pieces: str) -> str:
    stream = SecretStream()
    return "".join([*map(stream.feed, pieces), stream.close()])


def _is_left(secret: str, redacted: str) -> bool:
    return any(secret[at : at + 6] in redacted for at in range(len(secret) - 5))


def _calls(name: str) -> Iterator[tuple[str, str]]:
    """Calls of a format, each with the secret in it."""
    for number, argument in enumerate(_NAMES):
        secret = _WORDS[number]
        for arguments in ({argument: secret}, {"path": "a b", argument: secret, "mode": "ok"}):
            yield ToolCallParser.create(name).format(replace(_CALL, arguments=arguments)), secret


@pytest.mark.parametrize("name", _FORMATS)
def test_an_argument_goes_from_the_calls_of_every_format(name: str) -> None:
    for call, secret in _calls(name):
        text = f"I save it now.\n{call}\nDone."
        for given in (call, text, json.dumps({"content": text}), json.dumps({"body": json.dumps({"content": text})})):
            redacted = Redactor().text(given)
            assert not _is_left(secret, redacted), redacted
            assert len(redacted) == len(given)
            assert Redactor().text(redacted) == redacted


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", _FORMATS)
def test_an_argument_goes_from_a_call_that_ends_anywhere(name: str) -> None:
    for call, secret in _calls(name):
        start = call.find(secret)
        for end in range(start + 6, len(call)):
            redacted = Redactor().text(call[:end])
            assert not _is_left(secret[: end - start], redacted), redacted


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", _FORMATS)
def test_an_argument_goes_from_a_call_in_pieces(name: str) -> None:
    for call, secret in list(_calls(name))[1::2]:
        whole = Redactor().text(call)
        assert not _is_left(secret, whole)
        assert _streamed(*call) == whole
        for cut in range(1, len(call), 5):
            assert _streamed(call[:cut], call[cut:]) == whole


@pytest.mark.parametrize("form", _NEIGHBOURS)
def test_a_value_goes_beside_the_element_of_its_name(form: str) -> None:
    for name in ("password", "DB_PASSWORD", "apiKey", "client_secret"):
        for secret in ("sunshine", "hunter2hunter2"):
            text = form.format(n=name, v=secret)
            for given in (text, json.dumps({"out": f"total 1\n{text}\nend"})):
                redacted = Redactor().text(given)
                assert not _is_left(secret, redacted), redacted
                assert _streamed(*given) == redacted


_TABLES = (
    "| service | login | {n} |\n|---|---|---|\n| mail | bot | {v} |\n",
    "| {n} | login |\n|---|---|\n| {v} | bot |\n",
    "Save | user | {n} |\n|---|---|\n| bot | {v} |\n",
    *("user,{n}\njoe,{v}\n", "user;{n};port\njoe;{v};22\n", "user\t{n}\njoe\t{v}\n"),
)
_BELOW = (
    *("", "Example: x9k2mmm\n", "otpauth://totp/Example:ana?issuer=Example\n", "default = Kq7\n", "content: v2.1\n"),
    *("new: b2c3\n", "and its value: 12ab34cd\n", "--value x1\n"),
)


@pytest.mark.parametrize("table", _TABLES)
@pytest.mark.parametrize("below", _BELOW)
def test_a_cell_goes_from_below_its_name_whatever_is_below_the_table(table: str, below: str) -> None:
    for name in ("secret", "password", "AccountKey"):
        for secret in ("Rost-Nagel_64", "hQrRcJKbsp", "STabkcKsOeqTyKRj"):
            text = f"Look:\n{table.format(n=name, v=secret)}{below}"
            for given in (text, json.dumps({"out": text}), json.dumps({"body": json.dumps({"out": text})})):
                redacted = Redactor().text(given)
                assert not _is_left(secret, redacted), redacted
                assert _streamed(*given) == redacted


def test_a_name_in_camel_case_stays_in_a_table() -> None:
    for name in ("getUserNameById", "maxOpenConnCount", "isSetInNewForm"):
        text = f"| function | secret |\n|---|---|\n| load | {name} |\n"
        assert Redactor().text(text) == text


def test_a_value_goes_from_between_many_tags() -> None:
    for filler in ("<i>", "<b>x</b>", "</td>", "<br/>\n"):
        text = f"{filler * 700}<arg_key>password</arg_key> <arg_value>sunshine {filler * 700}"
        assert not _is_left("sunshine", Redactor().text(text))
        assert _streamed(*text) == Redactor().text(text)


_COLONS = ("Regen+Bogen505:12", "Regen:Bogen505:12", "Tr0ub4dor505:12", "xK9:vT2q:77", "Wolken7bruch:Fluss")
_CLEAR = (
    "Passwort geändert auf {v}",
    "the password is {v}, ok",
    "the pw is {v}\nok",
    "Das Passwort lautet {v}.",
)
_LOCATIONS = (
    *("password changed to host1:8080", "the password is in Config2Loader.java:77", "password from db1:5432"),
    *("the password is aa:bb:1c:dd:ee:ff", "password rotated to 2026-11-28T12:30:45Z", "password was set to 12:30:45b"),
    *("the password check is in Step2: see below", "passwords are root1:a, joe2:b", "password is base64:YWJj"),
)


@pytest.mark.parametrize("sentence", _CLEAR)
@pytest.mark.parametrize("value", _COLONS)
def test_a_colon_within_a_value_ends_no_value(value: str, sentence: str) -> None:
    text = sentence.format(v=value)
    redacted = Redactor().text(text)
    assert not _is_left(value, redacted)
    assert value[-3:] not in redacted
    assert redacted.startswith(sentence.partition("{v}")[0])
    assert Redactor().text(redacted) == redacted
    assert all(_streamed(text[:cut], text[cut:]) == redacted for cut in range(len(text)))
    assert _streamed(*text) == redacted


@pytest.mark.parametrize("text", _LOCATIONS)
def test_a_place_with_a_colon_is_no_value(text: str) -> None:
    assert Redactor().text(text) == text
