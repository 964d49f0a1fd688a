"""Every name in every container, behind every escape and however it is cut: none is left of what they introduce."""

import json
import random

import pytest

from tests.redaction.introductions import CONTAINERS, introduced
from tests.redaction.planted import Planted
from tests.redaction.secrets_in_the_wild import FORMS, PEM_BLOCKS, PEM_LINES
from tests.shares import in_shares
from weaklink.inspector.model import Generation, Json, Role, ToolDefinition, Turn
from weaklink.inspector.redaction.masking import SecretStream
from weaklink.inspector.redaction.redactor import Redactor

_INTRODUCED = list(introduced())
_SAMPLE = random.Random(4).sample(_INTRODUCED, 200)


def _is_left(planted: Planted, redacted: str) -> bool:
    """Whether six characters of the secret in a row are left."""
    secret = planted.secret
    return any(secret[at : at + 6] in redacted for at in range(len(secret) - 5))


def _streamed(*pieces: str) -> str:
    stream = SecretStream()
    return "".join([*map(stream.feed, pieces), stream.close()])


def test_there_are_a_hundred_containers_and_a_thousand_forms() -> None:
    assert len(CONTAINERS) >= 100
    assert len({planted.text for planted in _INTRODUCED}) >= 1000


@pytest.mark.parametrize("container", CONTAINERS)
def test_no_value_is_left_behind_any_name(container: str) -> None:
    for planted in _INTRODUCED:
        if planted.name.endswith(f" in {container}"):
            redacted = Redactor().text(planted.text)
            assert not _is_left(planted, redacted), redacted
            assert len(redacted) == len(planted.text)
            assert Redactor().text(redacted) == redacted


@pytest.mark.parametrize("container", CONTAINERS)
def test_no_value_is_left_in_json_in_json(container: str) -> None:
    for planted in _INTRODUCED:
        if planted.name.endswith(f" in {container}"):
            for ensure_ascii in (True, False):
                once = json.dumps({"stdout": f"total 1\n{planted.text}\nend", "code": 0}, ensure_ascii=ensure_ascii)
                twice = json.dumps({"result": once}, ensure_ascii=ensure_ascii)
                for text in (once, twice):
                    redacted = Redactor().text(text)
                    assert not _is_left(planted, redacted), redacted
                    json.loads(redacted)


@pytest.mark.one_in(7)
@in_shares(_SAMPLE)
def test_cut_anywhere_gives_the_same(planted: Planted) -> None:
    text = f"Look: {planted.text} and on."
    whole = Redactor().text(text)
    for cut in range(len(text) + 1):
        assert _streamed(text[:cut], text[cut:]) == whole
    assert _streamed(*text) == whole


@in_shares(FORMS)
def test_what_users_have_beside_goes_however_it_is_cut(planted: Planted) -> None:
    for text in (planted.text, json.dumps({"out": planted.text})):
        redacted = Redactor().text(text)
        assert not _is_left(planted, redacted), redacted
        assert len(redacted) == len(text)
        assert _streamed(*text) == redacted
        assert Redactor().text(redacted) == redacted


@pytest.mark.parametrize("name", PEM_BLOCKS)
def test_a_private_key_goes_behind_any_prefix_of_its_lines(name: str) -> None:
    block = PEM_BLOCKS[name]
    redacted = ""
    for text in (block, json.dumps({"out": f"{block}The next line."})):
        redacted = Redactor().text(text)
        assert not any(line[at : at + 6] in redacted for line in PEM_LINES for at in range(len(line) - 5)), redacted
        assert len(redacted) == len(text)
        assert _streamed(*text) == redacted
        assert Redactor().text(redacted) == redacted
    assert json.loads(redacted)["out"].endswith("The next line.")


def test_a_value_under_a_secret_name_goes_from_a_schema() -> None:
    value = "Tr0ub4dor3xtra"
    parameters: dict[str, Json] = {
        "properties": {
            "password": {"type": "string", "default": value, "examples": [value], "description": "The password."},
            "city": {"type": "string", "default": "Oslo", "examples": ["Bergen"]},
        }
    }
    for raw in ("", json.dumps({"name": "login", "parameters": parameters})):
        tool = ToolDefinition("login", "Log in.", parameters, raw)
        clean = Redactor().turn(Turn(Role.ASSISTANT, (), generation=Generation(tools=(tool,)))).generation
        assert clean is not None
        assert value not in repr(clean)
        assert "Oslo" in repr(clean)
        assert "Bergen" in repr(clean)
