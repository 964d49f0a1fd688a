"""The results that are suggested for arithmetic, and where none is."""

import pytest

from weaklink.inspector.json_scanner.words import result_of


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("6*12+2", 74),
        ("2 * (3 - 5)", -4),
        ("-3 * -(1 + 1)", 6),
        ("10 / 4", 2.5),
        ("10/5", 2),
        ("0.1+0.2", 0.3),
        ("2 - 3 - 4", -5),
        ("+1 - +2", -1),
        ("((7))", 7),
    ],
)
def test_plain_arithmetic_is_computed_exactly(expression: str, result: float) -> None:
    assert result_of(expression) == result


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("2**8", 256),
        ("10^3", 1000),
        ("7 * 10^6", 7_000_000),
        ("1e3*2", 2000),
        ("2.5e-1 + 1", 1.25),
        ("-2**2", -4),
        ("2**3**2", 512),
        ("2**-1", 0.5),
        ("(1+2)**2", 9),
    ],
)
def test_powers_and_exponents_are_computed(expression: str, result: float) -> None:
    assert result_of(expression) == result


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "()",
        "1 +",
        "* 2",
        "(1",
        "1)",
        "2**",
        "2**0.5",
        "9**9**9",
        "0**-1",
        "10^400",
        "12e34-56",
        "1e",
        "7//2",
        "1/0",
        "2024-11-15",
        "555-123-4567",
        "12/24/2027",
        "1 2",
        "x+1",
    ],
)
def test_what_is_no_arithmetic_or_should_not_be_computed_has_no_result(expression: str) -> None:
    assert result_of(expression) is None


def test_long_expressions_are_left_alone() -> None:
    assert result_of("1" + "+1" * 100) is None
    assert result_of("9" * 31 + "*2") is None
