"""What a running recording says of itself: how to point clients at it, a line per request, and what it leaves."""

from collections.abc import Iterator, Mapping, Sequence

from inspector.capture.watch import ExchangeFacts
from inspector.rules.catalogue import find_rule
from inspector.sessions.exchange import ExchangeEnd
from ui.views.palette import GLYPHS, Style, style_of
from ui.views.run import Line, Run
from ui.views.visible import visible_line
from ui.views.wording import counted, wrapped

_ENDS = {
    ExchangeEnd.UPSTREAM_DROPPED: "the upstream dropped it",
    ExchangeEnd.CLIENT_LEFT: "the client left",
    ExchangeEnd.NOT_CONNECTED: "the upstream was not reached",
    ExchangeEnd.TIMED_OUT: "timed out",
    ExchangeEnd.NOT_STORED: "the recording stopped",
}


def banner(url: str, upstreams: Sequence[tuple[str, str]], place: str, *, width: int) -> Iterator[Line]:
    """Where the proxy listens, what it forwards to, where the record goes, and how clients are pointed at it.

    `upstreams` are pairs of path prefix and address; `url` is what clients write, with the token where one is needed.
    """
    yield (Run("weaklink records at "), Run(url, Style.STRONG))
    for prefix, address in upstreams:
        yield (Run(f"  {url}{prefix}", Style.KEY), Run(" -> "), Run(visible_line(address)))
    yield from wrapped(
        (Run(f"  into {visible_line(place)}; keys, tokens and passwords are replaced"),), width, indent=2
    )
    yield ()
    yield (Run("Point a client here:"),)
    base = f"{url}{upstreams[0][0]}"
    for what, how in _ways(base):
        yield (Run(f"  {what:<15}"), Run(how, Style.KEY))
    yield ()
    yield (Run("In another terminal: "), Run("weaklink tail", Style.STRONG), Run("  (Ctrl-C ends the recording)"))
    yield ()


def request_line(facts: ExchangeFacts, time: str) -> Line:
    """One request: time, method, path, model, how it ended, how long it took, and what is wrong with the answer."""
    runs = [
        Run(f"{time} ", Style.DIM),
        Run(f"{facts.method} {visible_line(facts.target.partition('?')[0])} "),
        *((Run(f"{visible_line(facts.model)} ", Style.STRONG),) if facts.model else ()),
        _status(facts),
    ]
    runs += [Run(f", {said}") for said in _times(facts)]
    if facts.end in _ENDS and not _is_done(facts):
        runs += (Run(", "), Run(_ENDS[facts.end], Style.ERROR))
    runs += _faults(facts.faults)
    return tuple(runs)


def farewell(requests: int, others: int, redacted: int, *, lost: Sequence[str]) -> Iterator[Line]:
    """What a recording has kept when it ends, and what it lost."""
    said = f"weaklink: recorded {counted(requests, 'request')}"
    said += f", {others:,} others passed through" if others else ""
    said += f"; {counted(redacted, 'secret')} replaced" if redacted else ""
    yield (Run(f"{said}."),)
    for sentence in lost:
        yield (Run(f"{GLYPHS['warning']} {sentence}", Style.WARNING),)


def _ways(base: str) -> Iterator[tuple[str, str]]:
    yield "openai SDK", f"OPENAI_BASE_URL={base}/v1 python agent.py"
    yield "anthropic SDK", f"ANTHROPIC_BASE_URL={base} python agent.py"
    yield "Ollama", f"OLLAMA_HOST={base} python agent.py"
    yield "vLLM, SGLang", f"OpenAI(base_url='{base}/v1', api_key='-')"
    yield "curl", f"curl {base}/v1/chat/completions -d @request.json"


def _status(facts: ExchangeFacts) -> Run:
    if facts.status is None:
        return Run("no answer", Style.ERROR)
    return Run(str(facts.status), Style.OK if facts.status < 400 else Style.ERROR)


def _times(facts: ExchangeFacts) -> Iterator[str]:
    if facts.first_token_s is not None:
        yield f"first token {_seconds(facts.first_token_s)}"
    if facts.output_tokens is not None:
        yield counted(facts.output_tokens, "token")
    elif facts.chunks:
        yield counted(facts.chunks, "chunk")
    if facts.duration_s is not None:
        yield _seconds(facts.duration_s)


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _is_done(facts: ExchangeFacts) -> bool:
    """Whether the answer was whole although the client closed first, as openai's SDK does."""
    return facts.end is ExchangeEnd.CLIENT_LEFT and "C504" not in facts.faults


def _faults(faults: Mapping[str, int]) -> Iterator[Run]:
    for code, number in sorted(faults.items()):
        rule = find_rule(code)
        times = f" x{number}" if number > 1 else ""
        yield Run(f"  {GLYPHS[rule.severity.value]} {code} {rule.name}{times}", style_of(rule.severity))
