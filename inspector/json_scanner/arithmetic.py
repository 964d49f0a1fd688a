"""The result of plain arithmetic, as a suggestion for a value that the model left to be computed."""

from fractions import Fraction

from inspector.text import lazy_pattern

_LONGEST = 200
_TOKEN = lazy_pattern(r"\s*(?:(\d{1,30}(?:\.\d{1,30})?(?:[eE][-+]?\d{1,2})?(?![\d.\w]))|(\*\*|[-+*/()^]))")
_ARITHMETIC = lazy_pattern(r"[-+*/().\d\s^eE]*")
_LEADING_ZERO = lazy_pattern(r"(?<![\d.])0\d")
# 2024-11-15, 12/24/2024, 555-123-4567: dates and telephone numbers, which nobody meant to compute.
_DATE_OR_PHONE = lazy_pattern(r"\d+(?:-\d+){2,}|\d+(?:/\d+){2,}")
# 12e34-56: a piece of an identifier in hexadecimal digits.
_IDENTIFIER = lazy_pattern(r"\d*[eE][\deE]*(?:-[\deE]+)+|\d+(?:-[\deE]+)*-\d*[eE][\deE]*(?:-[\deE]+)*")
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "~": 3, "**": 4}
_LARGEST_EXPONENT = 1000
_MOST_BITS = 1024  # of a base that is raised: the result must stay a value that somebody would write out


def result_of(expression: str) -> int | float | None:
    """What an expression of plain numbers, `+ - * / **` and parentheses comes to; None for everything else.

    `^` is a power too, as in mathematics. Exact until the end: `0.1+0.2` is 0.3. Bounded to 200 characters, numbers of
    30 digits, and powers with whole exponents whose results have at most 1,024 bits.
    """
    if len(expression) > _LONGEST or not _ARITHMETIC.fullmatch(expression) or is_date_or_phone(expression):
        return None
    if "//" in expression or _IDENTIFIER.fullmatch(expression) or _LEADING_ZERO.search(expression):
        return None
    tokens = _tokens(expression)
    result = _computed(tokens) if tokens else None
    if result is None:
        return None
    return result.numerator if result.denominator == 1 else _as_float(result)


def is_date_or_phone(text: str) -> bool:
    """Whether a text of digits and signs looks like a date or a telephone number."""
    return bool(_DATE_OR_PHONE.fullmatch(text))


def _as_float(value: Fraction) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def _tokens(expression: str) -> list[str]:
    tokens, at, expression = [], 0, expression.rstrip()
    while at < len(expression):
        match = _TOKEN.match(expression, at)
        if not match:
            return []
        tokens.append("**" if match[2] == "^" else match[1] or match[2])
        at = match.end()
    return tokens


def _computed(tokens: list[str]) -> Fraction | None:
    """The result by two stacks (Dijkstra's shunting yard); None if the tokens make no expression."""
    numbers: list[Fraction] = []
    waiting: list[str] = []
    wants_number = True
    for token in tokens:
        if token[0].isdigit() and wants_number:
            numbers.append(Fraction(token))
            wants_number = False
        elif token == "(" and wants_number:
            waiting.append(token)
        elif token in "+-" and wants_number:
            waiting.append("~" if token == "-" else "(+")
        elif token == ")" and not wants_number:
            if not _unwind(numbers, waiting, 0) or not waiting or waiting.pop() != "(":
                return None
        elif token in _PRECEDENCE and not wants_number:
            if not _unwind(numbers, waiting, _PRECEDENCE[token] + (token == "**")):  # a power binds to the right
                return None
            waiting.append(token)
            wants_number = True
        else:
            return None
    if wants_number or not _unwind(numbers, waiting, 0) or waiting:
        return None
    return numbers[0]


def _unwind(numbers: list[Fraction], waiting: list[str], precedence: int) -> bool:
    while waiting and waiting[-1] != "(":
        operator = waiting[-1]
        if operator != "(+" and _PRECEDENCE[operator] < precedence:
            return True
        waiting.pop()
        if operator == "(+":
            continue
        right = numbers.pop()
        if operator == "~":
            numbers.append(-right)
            continue
        if operator == "/" and not right:
            return False
        if operator == "**" and not _is_small_power(numbers[-1], right):
            return False
        numbers.append(_applied(operator, numbers.pop(), right))
    return True


def _applied(operator: str, left: Fraction, right: Fraction) -> Fraction:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "**":
            return left ** int(right)
    return left / right


def _is_small_power(base: Fraction, exponent: Fraction) -> bool:
    """Whether a power has an exact result that is small enough to be computed and shown."""
    if exponent.denominator != 1 or abs(exponent) > _LARGEST_EXPONENT or (not base and exponent < 0):
        return False
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    return bits * abs(int(exponent)) <= _MOST_BITS
