r"""Reads what is neither bracket nor string: numbers and literals in any spelling, bare words and expressions.

Theory of operation. The reader expects a value, and sees no bracket and no quote. `read_word` tries three things; the
first that fits is the value:

    {"n": 1,250}              `_THOUSANDS`: groups of three digits, if no next member can begin at their comma
    {"n": 5}  {"n": True}     `_SCALAR`: a number or literal, and after it something that ends a value (`_ENDS`)
    {"n": 2 * 3600, ...       `run_end`: the run of characters up to the end of the value, whatever they are

A run ends at a comma, a closing bracket, a line end or a comment. Its own brackets are matched and its strings skipped:
`f(1, [2])` is one run. A comma as in `New York, NY` belongs to the run unless the next member begins after it.

`_understood` then decides what a run means, from the certain to the vague. Each but the first reports its fault:

    5, true                   JSON itself
    tru, 1., -                cut off by the end of the text: completed as far as that is certain (`_cut`)
    True, None                Python's literals
    NaN, -inf                 numbers that JSON cannot write
    +1, 1_000, .5, 0x1f       a number in the spelling of another language (`_json_spelling`)
    2 * 3600                  arithmetic on plain numbers: the repair is its result (`result_of`)
    next monday               words, which only lack their quotes
    f"{x}", a or b            an expression: quoted as it is, unless it only joins strings

Time is linear in the run: a repeat within a repeat is bounded, and a run is read a bounded number of times.
"""

import re
from fractions import Fraction
from json import dumps

from weaklink.inspector.diagnostics import Edit
from weaklink.inspector.json_scanner import messages
from weaklink.inspector.json_scanner.cursor import JsonCursor, Truncation, ValueContext
from weaklink.inspector.json_scanner.strings import read_content
from weaklink.inspector.json_scanner.values import LITERALS, NUMBER, JsonKind, JsonNode, number_value
from weaklink.inspector.json_text import Json
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

_PYTHON = {"True": "true", "False": "false", "None": "null"}

_OTHER_SPELLINGS = {
    "true": "true",
    "false": "false",
    "null": "null",
    "nil": "null",
    "undefined": "null",
    "none": "null",
}

# Numbers and literals. `_SCALAR`, `_PLUS` and `_THOUSANDS` match a beginning, the others a whole run.
_NON_FINITE = lazy_pattern(r"[-+]?(?:NaN|nan|Infinity|inf)")
_NUMBER = lazy_pattern(NUMBER)
_SCALAR = lazy_pattern(rf"(?:{NUMBER}|true|false|null|True|False|None)(?![\w.])")
_PLUS = lazy_pattern(r"\+[0-9]")
_SEPARATED = lazy_pattern(r"-?[0-9]{1,30}(?:_[0-9]{1,30}){1,30}")  # 1_000
_GROUPED = lazy_pattern(r"-?[1-9][0-9]{0,2}(?:,[0-9]{3}){1,10}")  # 1,000
_THOUSANDS = lazy_pattern(
    r"""
    -?[1-9][0-9]{0,2}(?:,[0-9]{3}){1,10}    # 1,250
    (?= \s*+ (?: \} | ,\s*+["'] ) )         # the object ends, or its next member begins
    """,
    re.VERBOSE,
)
_LEADING_ZEROS = lazy_pattern(r"-?0+[0-9]++(?:\.[0-9]+)?")  # 007
_BARE_DOT = lazy_pattern(r"-?(?:\.[0-9]+|[0-9]+\.)(?:[eE][-+]?[0-9]+)?")  # .5 and 5.
_BASED = lazy_pattern(r"-?0[xX][0-9a-fA-F]{1,64}|-?0[bB][01]{1,64}|-?0[oO][0-7]{1,64}")
_CUT_NUMBER = lazy_pattern(
    rf"""
    ({NUMBER})?                     # what is whole of it: `1` of `1.`, nothing of `-`
    (?: - | \. | (?:\.[0-9]+)?[eE][-+]? )
    """,
    re.VERBOSE,
)

# What may follow a scalar, so that it is the value and not the beginning of words such as `5 minutes`.
_ENDS = lazy_pattern(
    r"""
    \s*+ (?: [,}\])]                # the next value or the end of this object, array or tuple
           | \\[nrt]                # a line end that was escaped once too often
           | \Z | // | /\* | \# )   # the end, or a comment
    | \s*\n
    | \s++ (?: ["'“{\[]             # a comma was forgotten: `1 "b": 2`
             | [\w$]{1,64}\s*+: )   # and so were the quotes: `1 b: 2`
    | ["']\S{0,64}["']\s*+:         # not even a blank: `1"b": 2`
    """,
    re.VERBOSE,
)
_ENDS_ITEM = lazy_pattern(r"""\s++(?:\d|true\b|false\b|null\b)""")  # of an array without its comma: `[1 2]`

# The run of characters: what can be skipped without a look, and what decides at the rest.
_PLAIN = lazy_pattern(r"""[^,{}\[\]()"'`\n/#;<>]+""")
_PLACEHOLDER = lazy_pattern(r"<[^<>\n\"]{1,80}>")  # <your name>
_PREFIX = lazy_pattern(r"[fFrRbBuU]{1,2}")  # of a string in Python
_CLOSER = {"(": ")", "[": "]", "{": "}"}
_OPERATORS = frozenset("+-*/%=<>!&|?,")  # a run continues in the next line, or with a string, after one of these
_PROSE = lazy_pattern(r"[A-Za-z][\w .'-]*")
_MAX_PROSE_CHARS = 200  # before a comma that may belong to words
_MEMBER_BEGINS = lazy_pattern(
    r"""
    \s*+ (?: ["'“‘{}\[\]/#,] | \Z
           | \\"                            # an escaped quote
           | [\w$.-]{1,64}["']?\s*+[:=] )   # a key without quotes, or without its opening quote
    """,
    re.VERBOSE,
)
_LINE_COMMENT = lazy_pattern(r"//|/\*|#\s")
_AFTER_QUOTE = lazy_pattern(r"\s*+(?:[,}\]:]|\Z)")  # what follows a quote that closes, unlike an apostrophe

# Triple quotes, placeholders, addresses, strings, words and programs.
_TRIPLE = lazy_pattern(r'"""|\'\'\'')
_BRACES = lazy_pattern(r"\{\{?\s*[A-Za-z_][\w. ]{0,63}\}?\}")  # {name} and {{name}}
_ADDRESS = lazy_pattern(r"[A-Za-z][\w+.-]{0,20}://[^\s\"'`(){}\[\]<>]+")
_LITERAL_STRING = lazy_pattern(
    r"""
    [fFrRbBuU]{0,2}
    (?: "([^"\\]*(?:\\.[^"\\]*)*)"
      | '([^'\\]*(?:\\.[^'\\]*)*)' )
    """,
    re.DOTALL | re.VERBOSE,
)
"""A string of Python with its prefix: `f'...'`, `"..."`; groups 1 and 2 are its text."""
_WORD_CHARACTERS = lazy_pattern(
    r"""
    [^()\[\]{}<>"'`=*|\\+]+
    (?: ' [^()\[\]{}<>"'`=*|\\+]+ )*        # an apostrophe within: don't
    """,
    re.VERBOSE,
)
_PROGRAM = lazy_pattern(  # words that only a program writes
    r"""
    \b (?:True|False|None)[ ](?:and|or|in|is|if) \b
    | \b (?:and|or|in|is|if)[ ](?:True|False|None) \b
    | ^not[ ] | \blambda\b
    | \s[-/%^]\s                            # an operator between blanks
    | ^\.\.\. | ^… | ^-                     # nothing, or an option
    | && | \|\|
    """,
    re.VERBOSE,
)

# Arithmetic.
_MAX_EXPRESSION_CHARS = 200
_ARITHMETIC = lazy_pattern(r"[-+*/().\d\s^eE]*")
_TOKEN = lazy_pattern(
    r"""
    \s*
    (?: ( \d{1,30} (?:\.\d{1,30})? (?:[eE][-+]?\d{1,2})? (?![\d.\w]) )   # a number
      | ( \*\* | [-+*/()^] ) )                                           # an operator or a parenthesis
    """,
    re.VERBOSE,
)
_LEADING_ZERO = lazy_pattern(r"(?<![\d.])0\d")
# 2024-11-15, 12/24/2024, 555-123-4567: dates and telephone numbers, which are not arithmetic.
_DATE_OR_PHONE = lazy_pattern(r"\d+(?:-\d+){2,}|\d+(?:/\d+){2,}")
_IDENTIFIER = lazy_pattern(  # in hexadecimal digits
    r"""
    \d*[eE][\deE]* (?:-[\deE]+)+                                # 12e34-56
    | \d+ (?:-[\deE]+)* - \d*[eE][\deE]* (?:-[\deE]+)*          # 12-34e5
    """,
    re.VERBOSE,
)
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "~": 3, "**": 4}
_MAX_EXPONENT = 1000
_MAX_POWER_BITS = 1024  # of a power's result, so that it stays a value that somebody would write out


def opens_triple(cursor: JsonCursor) -> bool:
    """Whether a triple-quoted string begins at the cursor, and is closed."""
    match = _TRIPLE.match(cursor.text, cursor.position, cursor.end)
    if not match or match[0] in cursor.no_triple:
        return False
    is_closed = cursor.text.find(match[0], cursor.position + 3, cursor.end) >= 0
    if not is_closed:
        cursor.no_triple.add(match[0])
    return is_closed


def read_triple(cursor: JsonCursor) -> JsonNode:
    """The triple-quoted string at the cursor, with the value that a plain string of this content would have."""
    text, start = cursor.text, cursor.position
    close = text.find(text[start : start + 3], start + 3, cursor.end)
    cursor.position = close + 3
    value = read_content(text, start + 3, close, apostrophes=True).value
    string_range = Range(start, cursor.position)
    cursor.faults.add(messages.triple_quoted(text, string_range, dumps(value, ensure_ascii=False)))
    return JsonNode(JsonKind.OTHER, string_range, value)


def opens_placeholder(cursor: JsonCursor) -> bool:
    """Whether a template placeholder, `{name}` or `{{name}}`, is at the cursor."""
    return bool(_BRACES.match(cursor.text, cursor.position, cursor.end))


def read_placeholder(cursor: JsonCursor) -> JsonNode:
    """The placeholder in braces at the cursor."""
    match = _BRACES.match(cursor.text, cursor.position, cursor.end)
    end = match.end() if match else cursor.position + 1
    start, cursor.position = cursor.position, end
    return _expression(cursor, Range(start, end))


def read_word(cursor: JsonCursor, context: ValueContext) -> JsonNode | None:
    """Read the number, literal, word or expression at the cursor and move after it; None if there is none."""
    thousands = _THOUSANDS.match(cursor.text, cursor.position, cursor.end) if context is ValueContext.MEMBER else None
    if thousands:
        cursor.position = thousands.end()
        return _foreign_number(cursor, thousands[0], Range(*thousands.span()))
    scalar = _SCALAR.match(cursor.text, cursor.position, cursor.end)
    if scalar and _is_whole_scalar(cursor, scalar.end(), context):
        start, cursor.position = cursor.position, scalar.end()
        return _understood(cursor, Range(start, cursor.position))
    return read_run(cursor, cursor.position, context)


def read_run(cursor: JsonCursor, start: int, context: ValueContext) -> JsonNode | None:
    """Read the whole word or expression that begins at `start`; None if there is none."""
    end = run_end(cursor, start, context)
    if end == start:
        return None
    cursor.position = end
    return _missing_opening_quote(cursor, start, context) or _understood(cursor, Range(start, end))


def _is_whole_scalar(cursor: JsonCursor, end: int, context: ValueContext) -> bool:
    if _ENDS.match(cursor.text, end, cursor.end):
        return True
    return context in (ValueContext.ITEM, ValueContext.TUPLE) and bool(_ENDS_ITEM.match(cursor.text, end, cursor.end))


def _missing_opening_quote(cursor: JsonCursor, start: int, context: ValueContext) -> JsonNode | None:
    r"""The string in `"city": Oslo", "days": 3`, whose opening quote is missing."""
    text, end = cursor.text, cursor.position
    if context is ValueContext.ROOT or end >= cursor.end or text[end] not in "\"'" or text[end - 1] in "\"'":
        return None
    quote = text[end]
    cursor.position = end + 1
    content = read_content(text, start, end)
    token = Range(start, end + 1)
    closing = [] if quote == '"' else [Edit(Range(end, end + 1), '"')]
    cursor.faults.add(messages.missing_opening_quote(text, token, [*content.edits, *closing]))
    for fault in content.faults:
        cursor.faults.add(fault)
    return JsonNode(JsonKind.STRING, token, content.value)


def _understood(cursor: JsonCursor, run_range: Range) -> JsonNode:
    """The value that a bare run of characters means; reports its fault."""
    raw = run_range.of(cursor.text)
    if raw in LITERALS:
        return JsonNode(*_with_range(LITERALS[raw], run_range))
    if run_range.end == cursor.end and cursor.frames:
        cut = _cut(cursor, raw, run_range)
        if cut:
            return cut
    if _NUMBER.fullmatch(raw):
        return JsonNode(JsonKind.NUMBER, run_range, number_value(raw))
    if raw in _PYTHON:
        cursor.faults.add(messages.python_literal(cursor.text, run_range, _PYTHON[raw]))
        return JsonNode(*_with_range(LITERALS[_PYTHON[raw]], run_range))
    if _NON_FINITE.fullmatch(raw):
        cursor.faults.add(messages.non_finite(cursor.text, run_range))
        return JsonNode(JsonKind.OTHER, run_range)
    return _foreign_number(cursor, raw, run_range) or _word_or_expression(cursor, raw, run_range)


def _with_range(literal: tuple[JsonKind, Json], run_range: Range) -> tuple[JsonKind, Range, Json]:
    return literal[0], run_range, literal[1]


def _cut(cursor: JsonCursor, raw: str, run_range: Range) -> JsonNode | None:
    """A number or literal that the end of the text cuts off, completed as far as that is certain."""
    for literal, (kind, scalar) in LITERALS.items():
        if literal.startswith(raw):
            cursor.cut = Truncation("word", run_range, [], literal[len(raw) :])
            return JsonNode(kind, run_range, scalar)
    if _NUMBER.fullmatch(raw):
        cursor.cut = Truncation("number", run_range)
        return None
    match = _CUT_NUMBER.fullmatch(raw)
    if not match:
        return None
    if not match[1]:
        cursor.cut = Truncation("nothing", run_range, [Edit(run_range, "")])
        return JsonNode(JsonKind.OTHER, run_range)
    whole = len(match[1])
    cursor.cut = Truncation("number", run_range, [Edit(Range(run_range.start + whole, run_range.end), "")])
    return JsonNode(JsonKind.NUMBER, run_range, number_value(match[1]))


def _foreign_number(cursor: JsonCursor, raw: str, number_range: Range) -> JsonNode | None:
    """A number in another language's spelling; None if it is none."""
    spelling = _json_spelling(raw)
    if not spelling:
        return None
    text, reason, safe = spelling
    cursor.faults.add(messages.invalid_number(cursor.text, number_range, text, reason, safe=safe))
    return JsonNode(JsonKind.NUMBER, number_range, number_value(text))


def _json_spelling(raw: str) -> tuple[str, str, bool] | None:
    """A non-JSON number as JSON writes it, what is wrong with it, and whether the repair is safe."""
    if _PLUS.match(raw) and _NUMBER.fullmatch(raw[1:]):
        return raw[1:], "begins with a plus sign", True
    if _SEPARATED.fullmatch(raw) and _NUMBER.fullmatch(raw.replace("_", "")):
        return raw.replace("_", ""), "separates its digits", True
    if _GROUPED.fullmatch(raw):
        return raw.replace(",", ""), "groups its digits with commas", False
    sign, digits = ("-", raw[1:]) if raw.startswith("-") else ("", raw)
    if _LEADING_ZEROS.fullmatch(raw):
        stripped = digits.lstrip("0")
        return sign + (stripped if stripped[:1].isdigit() else f"0{stripped}"), "begins with a zero", False
    if _BARE_DOT.fullmatch(raw):
        return sign + _with_digits(digits), "has no digit on one side of its point", True
    if _BASED.fullmatch(raw):
        return str(int(raw, 0)), "is not decimal", False
    return None


def _with_digits(digits: str) -> str:
    if digits.startswith("."):
        return f"0{digits}"
    whole, _, rest = digits.partition(".")
    return f"{whole.lstrip('0') or '0'}.0{rest}"


def _word_or_expression(cursor: JsonCursor, raw: str, run_range: Range) -> JsonNode:
    result = result_of(raw)
    if result is not None:
        cursor.faults.add(messages.arithmetic(cursor.text, run_range, dumps(result)))
        return JsonNode(JsonKind.OTHER, run_range, result)
    is_word = _ADDRESS.fullmatch(raw) or (_WORD_CHARACTERS.fullmatch(raw) and not _PROGRAM.search(raw[:200]))
    if not is_word and not is_date_or_phone(raw):
        return _expression(cursor, run_range)
    if not any(character.isalnum() for character in raw):
        cursor.faults.add(messages.no_value(cursor.text, run_range))
        return JsonNode(JsonKind.OTHER, run_range, raw)
    spelling = _OTHER_SPELLINGS.get(raw.lower())
    if spelling:
        cursor.faults.add(messages.misspelt_literal(cursor.text, run_range, spelling))
        return JsonNode(JsonKind.OTHER, run_range, LITERALS[spelling][1])
    value = raw
    cursor.faults.add(messages.unquoted_value(cursor.text, run_range, dumps(value, ensure_ascii=False)))
    return JsonNode(JsonKind.OTHER, run_range, value)


def _expression(cursor: JsonCursor, expression_range: Range) -> JsonNode:
    raw = expression_range.of(cursor.text)
    joined = _joined_strings(raw)
    value = raw if joined is None else joined
    kind = "" if joined is None else "a concatenation of strings" if "+" in raw else "a string with a Python prefix"
    cursor.faults.add(messages.expression(cursor.text, expression_range, dumps(value, ensure_ascii=False), kind))
    return JsonNode(JsonKind.OTHER, expression_range, value)


def _joined_strings(raw: str) -> str | None:
    """The value of `"a" + "b"`, or of a string with a Python prefix; None for any other expression."""
    pieces: list[str] = []
    position = 0
    while True:
        match = _LITERAL_STRING.match(raw, position)
        if not match:
            return None
        content = match[1] if match[1] is not None else match[2]
        if raw[position] in "fF" and "{" in content:
            return None
        pieces.append(read_content(content, 0, len(content), apostrophes=True).value)
        rest = raw[match.end() : match.end() + 64].lstrip()
        if not rest:
            return "".join(pieces) if match.end() == len(raw) else None
        if not rest.startswith("+"):
            return None
        position = raw.index("+", match.end()) + 1
        while position < len(raw) and raw[position].isspace():
            position += 1
        if position == len(raw):
            return None


def run_end(cursor: JsonCursor, start: int, context: ValueContext) -> int:
    """The end of the run of characters that begins at `start` and is not a JSON value.

    Brackets within it are matched by kind and strings skipped; outside of them it ends at a comma, a closing bracket,
    a line end or a comment. Trailing white space does not belong to it. The run may be empty.
    """
    text, end, position = cursor.text, cursor.end, start
    closers: list[str] = []
    while position < end:
        plain = _PLAIN.match(text, position, end)
        if plain:
            position = plain.end()
            continue
        step = _step(cursor, start, position, context, closers)
        if not step:
            break
        position += step
    while position > start and text[position - 1].isspace():
        position -= 1
    return position


def _step(cursor: JsonCursor, start: int, position: int, context: ValueContext, closers: list[str]) -> int:
    """How many characters the run takes next at `position`; 0 if it ends there."""
    text, character = cursor.text, cursor.text[position]
    if character in "\"'`":
        return _quote(cursor, start, position, nested=bool(closers))
    if character in "([{":
        adjacent = position == start or not text[position - 1].isspace() or character == "("
        if not closers and not adjacent:
            return 0
        closers.append(_CLOSER[character])
        return 1
    if character in ")]}":
        return _closer(character, context, closers)
    if closers:
        return 1
    return _outside(cursor, start, position, context)


def _closer(character: str, context: ValueContext, closers: list[str]) -> int:
    if closers:
        return 1 if closers.pop() == character else 0
    return int(character == ")" and context is not ValueContext.TUPLE)


def _outside(cursor: JsonCursor, start: int, position: int, context: ValueContext) -> int:
    """As `_step`, for a comma, line end, slash, hash, semicolon or angle bracket outside all brackets."""
    text, character = cursor.text, cursor.text[position]
    if character == "<":
        match = _PLACEHOLDER.match(text, position, cursor.end)
        return match.end() - position if match else 1
    if character == ">":
        return 1
    if character == ",":
        prose = (
            context is ValueContext.MEMBER
            and position - start < _MAX_PROSE_CHARS
            and _PROSE.fullmatch(text, start, position)
        )
        return int(bool(prose) and not _MEMBER_BEGINS.match(text, position + 1, cursor.end))
    if character == "\n":
        return int(_last_character(text, start, position) in _OPERATORS)
    if character == ";":
        return int(position + 1 < cursor.end and not text[position + 1].isspace())
    spaced = position == start or text[position - 1].isspace()
    return int(not (spaced and _LINE_COMMENT.match(text, position, cursor.end)))


def _last_character(text: str, start: int, position: int) -> str:
    while position > start and text[position - 1].isspace():
        position -= 1
    return text[position - 1] if position > start else ""


def _quote(cursor: JsonCursor, start: int, position: int, *, nested: bool) -> int:
    """As `_step`, for a quote: it opens a string of the expression, is an apostrophe, or ends the run."""
    text = cursor.text
    length = _string_length(cursor, position)
    if nested:
        return length or 1
    last = _last_character(text, start, position)
    if length and (position == start or last in _OPERATORS or _PREFIX.fullmatch(text, start, position)):
        return length
    adjacent = position > start and text[position - 1] == last
    if text[position] == "'" and adjacent and not _AFTER_QUOTE.match(text, position + 1, cursor.end):
        return 1
    return 0


def _string_length(cursor: JsonCursor, position: int) -> int:
    """The length of the string that begins with the quote at `position`; 0 if the string is not closed on its line."""
    text, quote = cursor.text, cursor.text[position]
    if quote == "`":
        last = text.find(quote, position + 1, cursor.end)
        return last + 1 - position if last >= 0 else 0
    last = cursor.quotes.find(text, quote, position + 1, cursor.end)
    return last + 1 - position if last >= 0 and text.find("\n", position, last) < 0 else 0


def result_of(expression: str) -> int | float | None:
    """The result of an expression of plain numbers, `+ - * / **` and parentheses; None for everything else.

    `^` is a power too, as in mathematics. Computes with exact fractions: `0.1+0.2` is 0.3. Limited to 200 characters,
    numbers of 30 digits, and powers with integer exponents whose results have at most 1,024 bits.
    """
    if len(expression) > _MAX_EXPRESSION_CHARS or not _ARITHMETIC.fullmatch(expression) or is_date_or_phone(expression):
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
    tokens, position, expression = [], 0, expression.rstrip()
    while position < len(expression):
        match = _TOKEN.match(expression, position)
        if not match:
            return []
        tokens.append("**" if match[2] == "^" else match[1] or match[2])
        position = match.end()
    return tokens


def _computed(tokens: list[str]) -> Fraction | None:
    """The result, computed with two stacks (Dijkstra's shunting yard); None if the tokens are not an expression."""
    numbers: list[Fraction] = []
    operators: list[str] = []
    expects_number = True
    for token in tokens:
        if token[0].isdigit() and expects_number:
            numbers.append(Fraction(token))
            expects_number = False
        elif token == "(" and expects_number:
            operators.append(token)
        elif token in "+-" and expects_number:
            operators.append("~" if token == "-" else "(+")
        elif token == ")" and not expects_number:
            if not _unwind(numbers, operators, 0) or not operators or operators.pop() != "(":
                return None
        elif token in _PRECEDENCE and not expects_number:
            if not _unwind(numbers, operators, _PRECEDENCE[token] + (token == "**")):  # a power binds to the right
                return None
            operators.append(token)
            expects_number = True
        else:
            return None
    if expects_number or not _unwind(numbers, operators, 0) or operators:
        return None
    return numbers[0]


def _unwind(numbers: list[Fraction], operators: list[str], precedence: int) -> bool:
    while operators and operators[-1] != "(":
        operator = operators[-1]
        if operator != "(+" and _PRECEDENCE[operator] < precedence:
            return True
        operators.pop()
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
    """Whether a power has an exact result that is small enough to compute and show."""
    if exponent.denominator != 1 or abs(exponent) > _MAX_EXPONENT or (not base and exponent < 0):
        return False
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    return bits * abs(int(exponent)) <= _MAX_POWER_BITS
