"""`weaklink rules`, `rules` and `formats`."""

import json
from pathlib import Path

import pytest

from tests.ui.conftest import ROOT, Run
from weaklink.inspector.formats.registry import formats
from weaklink.inspector.rules.catalogue import RULES


@pytest.mark.parametrize("word", ["J104", "j104", "trailing-comma", "Trailing-Comma"])
def test_a_rule_is_explained_with_carets(weaklink: Run, word: str) -> None:
    done = weaklink("rules", word)
    assert done.returncode == 0
    shown = done.stdout.decode()
    assert shown.startswith("error[J104] trailing-comma\n")
    assert "Deleting it is always safe." in shown
    assert "^" in shown


def test_a_rule_as_json(weaklink: Run) -> None:
    payload = json.loads(weaklink("rules", "J104", "--json").stdout)
    assert list(payload) == [
        "code",
        "name",
        "severity",
        "summary",
        "explanation",
        "remedy",
        "bad",
        "good",
        "format",
    ]


def test_an_unknown_rule_names_the_nearest(weaklink: Run) -> None:
    done = weaklink("rules", "trailing-coma")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"weaklink: unknown rule `trailing-coma`; did you mean `trailing-comma`?\n"


@pytest.mark.parametrize("columns", ["40", "80", "140"])
def test_all_rules_are_listed_and_fit(weaklink: Run, columns: str) -> None:
    shown = weaklink("rules", COLUMNS=columns).stdout.decode()
    assert all(rule.code in shown for rule in RULES)
    assert columns == "40" or max(map(len, shown.splitlines())) <= int(columns)


def test_all_rules_as_json(weaklink: Run) -> None:
    assert [rule["code"] for rule in json.loads(weaklink("rules", "--json").stdout)] == [rule.code for rule in RULES]


def test_formats_are_listed(weaklink: Run) -> None:
    listed = weaklink("formats").stdout.decode()
    assert all(format.name in listed for format in formats())
    payload = json.loads(weaklink("formats", "--json").stdout)
    assert [list(rule) for rule in payload] == [["name", "aliases", "models", "summary", "reads", "writes"]] * len(
        formats()
    )


def test_a_format_is_detected_by_text_by_model_and_by_both(weaklink: Run, tmp_path: Path) -> None:
    text = b'<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    (tmp_path / "r.txt").write_bytes(text)
    detect = ("formats", "--detect", "--json")
    by_file = json.loads(weaklink(*detect, "r.txt").stdout)
    assert list(by_file) == ["format", "confidence", "reason"]
    assert by_file["format"] == "hermes"
    assert json.loads(weaklink(*detect, stdin=text).stdout) == by_file
    assert json.loads(weaklink(*detect, "-", stdin=text).stdout) == by_file
    by_model = json.loads(weaklink(*detect, "--model", "Hermes-4-70B").stdout)
    assert (by_model["format"], by_model["confidence"] > 0) == ("hermes", True)
    assert weaklink("formats", "--detect", "r.txt").stdout.startswith(b"hermes (confidence 0.")


def test_a_file_without_detect_is_a_mistake(weaklink: Run) -> None:
    assert weaklink("formats", "r.txt").returncode == 2


def test_a_broken_plug_in_is_told_and_hurts_nobody(weaklink: Run, tmp_path: Path) -> None:
    about = tmp_path / "plug_ins" / "plug_ins-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: plug-ins\nVersion: 1\n")
    points = "[weaklink.formats]\ngood = good_plug_in:FORMAT\nbad = bad_plug_in:FORMAT\nnone = good_plug_in:NONE\n"
    (about / "entry_points.txt").write_text(points)
    (about.parent / "bad_plug_in.py").write_text("raise RuntimeError('the ink is gone')\n")
    (about.parent / "good_plug_in.py").write_text(
        "from msgspec.structs import replace\n"
        "from weaklink.inspector.formats.dialects.hermes import HERMES\n"
        "FORMAT = replace(HERMES, name='parrot', aliases=())\n"
        "NONE = 1\n"
    )
    run = weaklink("formats", "--json", PYTHONPATH=f"{ROOT / 'src'}:{about.parent}")
    assert run.returncode == 0
    assert "parrot" in [record["name"] for record in json.loads(run.stdout)]
    told = run.stderr.decode()
    assert "The plug-in `bad` (bad_plug_in:FORMAT) could not be loaded: RuntimeError('the ink is gone')." in told
    assert "The plug-in `none` (good_plug_in:NONE) is a `int`, not a Format." in told
