"""Where secrets were replaced in a trace, for `weaklink show --redactions`, and in a report of `weaklink db scan`."""

from collections import Counter
from collections.abc import Iterator, Sequence

from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Trace
from weaklink.inspector.redaction.finding import find_secrets
from weaklink.inspector.redaction.secret_values import Secret
from weaklink.inspector.scanning import lazy_pattern
from weaklink.ui.views.styled_text import Line, Run, Style, counted, visible_line

_UNKNOWN = "no rule of today: a value of the environment, --redact, or asterisks of the source"


_FILLERS = lazy_pattern(r"\*{3,}")
_SAMPLES = ("a1B2c3D4", "a1b2c3d4", "A1B2C3D4")  # of the alphabets of keys
_UNKNOWN_FILLER_CHARS = 8


def placed_texts(trace: Trace) -> Iterator[tuple[str, str]]:
    """The texts of a trace that may contain secrets, each with its place in words."""
    yield "name", trace.name
    for number, turn in enumerate(trace.turns, 1):
        for part in turn.parts:
            yield f"turn {number}, {part.name}", part.text
        if turn.run is not None:
            yield f"turn {number}, arguments that ran", turn.run.arguments or ""
            yield f"turn {number}, result of the run", turn.run.result or ""
        if turn.generation is not None:
            yield f"turn {number}, parameters", turn.generation.parameters
            yield f"turn {number}, error", turn.generation.error.message if turn.generation.error else ""
            for tool in turn.generation.tools:
                definition = tool.raw or write_json(tool.parameters)
                yield f"turn {number}, tool {tool.name}", f"{tool.description}\n{definition}"


def redaction_lines(trace: Trace) -> Iterator[Line]:
    """A line for each place at which a secret was replaced: where, how long, and the rule that finds it."""
    total = 0
    for where, text in dict.fromkeys(placed_texts(trace)):
        for secret in _redactions(text):
            total += 1
            size = counted(secret.end - secret.start, "character")
            yield (
                Run(f"{visible_line(where)} {secret.start}-{secret.end}"),
                Run(f"  {size}, {secret.rule or _UNKNOWN}", Style.DIM),
            )
    yield (Run(f"{counted(total, 'place')} with asterisks for secrets"),)


def _redactions(text: str) -> list[Secret]:
    """Where fillers are in a redacted text, each with the rule that would put it there, `""` if none would.

    Asterisks that were in the text before look the same; short ones without a rule are left out.
    """
    runs = [match.span() for match in _FILLERS.finditer(text)]
    rules: dict[int, str] = {}
    for sample in _SAMPLES if runs else ():
        filled = _FILLERS.sub(lambda match, sample=sample: (sample * len(match[0]))[: len(match[0])], text)  # type: ignore[misc]  # it is bound at once
        for secret in find_secrets(filled):
            rules = {start: secret.rule for start, _ in runs if secret.start <= start < secret.end} | rules
    known = (Secret(start, end, rule=rules.get(start, "")) for start, end in runs)
    return [secret for secret in known if secret.rule or secret.end - secret.start >= _UNKNOWN_FILLER_CHARS]


def rules_found(trace: Trace) -> Counter[str]:
    """How many secrets each rule finds in the texts of a trace that was not redacted by today's rules."""
    texts = dict.fromkeys(text for _, text in placed_texts(trace))
    return Counter(secret.rule for text in texts for secret in find_secrets(text))


def scan_lines(id: int, before: Trace, exchanges: int) -> Sequence[Line]:  # as everywhere
    """What a scan found in one trace: how many secrets of which rules, and in how many recorded exchanges."""
    rules = rules_found(before)
    words = [f"{number}x {rule}" for rule, number in rules.most_common()]
    if exchanges:
        words.append(f"in {counted(exchanges, 'recorded exchange')}")
    return [(Run(f"trace {id}: {'; '.join(words) or 'in its facts'}"),)]
