"""Every prediction agrees with what the servers' own parsers returned for the stored texts.

`matrix.jsonl` has broken calls of every format through the parsers of vLLM 0.33.0 and SGLang 0.5.23: what was measured
apart from the table's own texts. `answers.jsonl` is a sample of these, so that a changed reading of a text is noticed.
"""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.servers.measuring import ANSWERS, MATRIX, MIN_TEXTS, Result, agrees, observed, predicted, rows_of
from tests.servers.parsers import MeasuredParser
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.formats.server_parsers import FACTS, ParserOutcome, Prediction, known_parsers

DOCS = Path(__file__).parents[2] / "docs" / "layers.md"
COUNTS = re.compile(r"(?<=<!-- matrix -->\n).*?(?=<!-- /matrix -->)", re.DOTALL)


@cache
def _rows() -> list[dict[str, Any]]:
    return [
        json.loads(line) for path in (MATRIX, ANSWERS) for line in path.read_text(encoding="utf-8").strip().split("\n")
    ]


def _prediction(row: dict[str, Any]) -> Prediction | None:
    parser = (row["server"], row["parser"], row["reasoning"])
    predictions = predicted(row["format"], row["text"])
    return next(
        (
            prediction
            for prediction in predictions
            if (prediction.parser.server, prediction.parser.name, prediction.parser.reasoning) == parser
        ),
        None,
    )


@pytest.mark.parametrize("format", sorted({row["format"] for row in _rows()}))
def test_no_prediction_differs_from_what_the_servers_code_returned(format: str) -> None:
    for row in (row for row in _rows() if row["format"] == format):
        prediction = _prediction(row)
        if prediction is None:
            continue
        assert row["whole"] is None or agrees(prediction, row["whole"]), (prediction.behaviour, row)
        if prediction.streams_alike and row["streamed"] is not None:
            assert agrees(prediction, row["streamed"]), (prediction.behaviour, row)


def test_much_of_the_matrix_is_predicted() -> None:
    counts = Counter(_prediction(row) is not None for row in _rows())
    assert counts[True] > counts[False] * 0.5


def test_the_docs_count_the_predictions_for_the_matrix(update_goldens: bool) -> None:
    rows = [json.loads(line) for line in MATRIX.read_text(encoding="utf-8").splitlines()]
    known = sum(_prediction(row) is not None for row in rows)
    sentence = (
        f"Much stays without a sentence. Of the {len(rows):,} results in `tests/cases/servers/matrix.jsonl`, "
        f"{known:,} have a prediction, and it is right in all of them; of the other {len(rows) - known:,} nothing is "
        "said.\n"
    )
    docs = DOCS.read_text(encoding="utf-8")
    if update_goldens:
        DOCS.write_text(COUNTS.sub(sentence, docs), encoding="utf-8")
        return
    assert COUNTS.findall(docs) == [sentence]


def test_every_row_names_known_formats_facts_and_outcomes() -> None:
    for parser in known_parsers():
        assert find_format(parser.format).name == parser.format
        for row in parser.rows:
            assert {fact.removeprefix("-") for fact in row.facts} <= FACTS.keys()
            assert {ParserOutcome(outcome) for outcome in row.whole.split("/")}
            assert all(ParserOutcome(streamed) for streamed in row.streamed.split("/") if streamed)


def test_a_failure_of_the_stubs_says_nothing_of_the_parser() -> None:
    parser = MeasuredParser("vLLM", "hermes", None, "hermes")
    texts = [
        f'<tool_call>\n{{"name": "get_weather", "arguments": {{"days": {days}}}}}\n</tool_call>'
        for days in range(MIN_TEXTS)
    ]
    returned = [
        {"tool_calls": [{"name": "get_weather", "arguments": f'{{"days": {days}}}'}]} for days in range(MIN_TEXTS)
    ]
    failed = Result(parser, texts[0], {"error": "JobTimeoutError: no result"}, {"error": "ImportError: torch"})
    measured = [Result(parser, text, answer, None) for text, answer in zip(texts, returned, strict=True)]
    assert rows_of(observed([failed, *measured])) == rows_of(observed(measured)) != []
