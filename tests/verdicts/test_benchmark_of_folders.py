"""`python -m benchmarks verdicts FOLDER ...`: which folders it takes."""

import pytest

from benchmarks.__main__ import main


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["blind/none"],
            "no folder with labels is called blind/none; there are: blind/eight, blind/eleven/first",
        ),
        (["blind/one", "blind"], "no folder with labels is called blind; there are:"),
        (["--differences"], "--differences needs a folder; there are: blind/eight, blind/eleven/first,"),
    ],
)
def test_an_unknown_folder_is_named_with_those_that_there_are(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verdicts", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(sentence)
