"""Sends the requests of a suite to an endpoint, whole and streamed, and judges each answer.

A request is one job: its whole answer, its streamed answer, the comparison of the two, and, only if one of them has a
fault whose owner is unknown, further requests for the model's own text (`_RawTexts`). A finished job is handed to the
caller at once, so an interrupt loses only jobs that are under way. Bounds, waiting for busy servers and `retry-after`
are `capture.resending`'s.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct, field, structs

from weaklink.inspector.apis.openai import chat
from weaklink.inspector.capture.resending import (
    SESSION_HEADER,
    RequestRefusedError,
    Resender,
    ResendStoppedError,
    ResendTarget,
    SpendingBounds,
    resending,
    target_of,
)
from weaklink.inspector.capture.safeguards import now_s
from weaklink.inspector.chain.layers import same_arguments
from weaklink.inspector.json_text import list_of, word_of
from weaklink.inspector.model import Json
from weaklink.inspector.probe.answers import CHAT_PATH, ProbeAnswer
from weaklink.inspector.probe.judging import JudgedAnswer, Owner, ProbeFinding
from weaklink.inspector.probe.ownership import ComparedDelivery, RawMethod, RawText, owned
from weaklink.inspector.probe.results import ProbeMode, ProbeRecord, record_of
from weaklink.inspector.probe.suite import ProbeRequest, request_hash
from weaklink.inspector.replay.resend import answer_limit
from weaklink.inspector.sessions.exchange import ExchangeEnd, ExchangeObserver, Headers, RequestHead, header_of

FOLLOW_UPS = 6
"""The most further requests for one answer with faults: a repetition, two that render the prompt, two that complete it,
one that is not parsed."""
_BYTES_PER_TOKEN = 4
_MAX_UNANSWERED = 4
"""After so many requests that got no answer, or were refused alike, and none that got one, a run ends."""
_OF_ALL_REQUESTS = frozenset({401, 403, 404, 405})
"""The statuses that a wrong key, path or model has for every request; a 400 may be about one parameter."""
_MIN_KEY_CHARS = 8
_HIDDEN = "*" * 8
_TEMPLATE_TOKENS = 1024


class ProbePlan(Struct, frozen=True):
    """What to send where: the requests, in which modes, to which model (`""` keeps each request's own)."""

    url: str
    requests: tuple[ProbeRequest, ...]
    model: str = ""
    modes: tuple[ProbeMode, ...] = (ProbeMode.WHOLE, ProbeMode.STREAMED)
    as_written: bool = False
    concurrency: int = 4
    is_owner_sought: bool = True
    server_parser: str = ""

    def bodies(self, request: ProbeRequest) -> list[dict[str, Json]]:
        """The bodies to send for a request, one for each mode; `as_written`: only the one that its file has."""
        if self.as_written:
            return [{**request.body, **({"model": self.model} if self.model else {})}]
        return [request.prepared(self.model, stream=mode is ProbeMode.STREAMED) for mode in self.modes]

    @property
    def count(self) -> int:
        """The number of requests, without retries and further requests for answers with faults."""
        return len(self.requests) * (1 if self.as_written else len(self.modes))

    @property
    def prompt_tokens(self) -> int:
        """The estimated tokens of all prompts: a quarter of the bytes."""
        return sum(estimated_tokens(body) for request in self.requests for body in self.bodies(request))

    @property
    def answer_tokens(self) -> int:
        """The most tokens of all answers, as far as the requests limit them."""
        return sum(answer_limit(body) or 0 for request in self.requests for body in self.bodies(request))


def estimated_tokens(body: Mapping[str, Json]) -> int:
    """The approximate number of tokens of a request's prompt."""
    return max(1, len(_encoded(body)) // _BYTES_PER_TOKEN)


def endpoint_target(url: str, variables: Mapping[str, str], key_variable: str | None = None) -> ResendTarget:
    """The target for chat completions at a server's address, with the key of the environment."""
    base = re.sub(r"/chat/completions/*\Z", "", url.rstrip("/"))
    target = target_of(base, chat.API, CHAT_PATH, variables, key_variable=key_variable)
    headers = (*target.headers, ("accept-encoding", "identity"))
    return ResendTarget(target.upstream, target.path, headers, target.key)


class ProbedAnswer(Struct, frozen=True):
    """One finished answer: its record, and the judged answer itself."""

    record: ProbeRecord
    judged: JudgedAnswer


class _Collected(ExchangeObserver):
    """Keeps the status, the type and the pieces of one answer."""

    def __init__(self, began_s: float) -> None:
        self.began_s, self.ended_s = began_s, began_s
        self.status: int | None = None
        self.content_type, self.failure = "", ""
        self.pieces: list[tuple[float, bytes]] = []

    def request_arrived(self, raw: bytes) -> None:
        """Nothing: the request is known."""

    def answer_began(self, status: int, headers: Headers, at_s: float | None) -> None:
        self.status, self.content_type = status, header_of(headers, "content-type")

    def answer_arrived(self, raw: bytes, at_s: float | None) -> None:
        self.ended_s = at_s or self.ended_s
        self.pieces.append((self.ended_s, raw))

    def ended(self, end: ExchangeEnd, at_s: float | None, message: str = "") -> None:
        self.ended_s = at_s or self.ended_s
        self.failure = message


class _Collector:
    """Observes all exchanges; the answer of a request is kept under its id."""

    def __init__(self) -> None:
        self.answers: dict[str, _Collected] = {}

    def began(self, head: RequestHead) -> ExchangeObserver:
        """An exchange begins."""
        collected = _Collected(head.at_s or 0.0)
        self.answers[header_of(head.headers, SESSION_HEADER)] = collected
        return collected


class Asker:
    """Sends bodies to the paths of one endpoint, one answer each."""

    def __init__(self, resender: Resender, collector: _Collector, hide: Callable[[bytes], bytes]) -> None:
        self._resender, self._collector, self._hide = resender, collector, hide
        self._count = self._unanswered = 0
        self._has_answered = False
        self._refusals: list[int] = []  # their statuses

    async def ask(self, body: Mapping[str, Json], path: str = CHAT_PATH, *, at_root: bool = False) -> ProbeAnswer:
        """The answer to a request. `at_root`: the path is below the server's address without the API's version.

        ResendStoppedError if a bound is reached, or the server has answered nothing yet: at once if it cannot be
        reached, after four requests if it is busy or broken for all, or refuses all with the same 401, 403, 404 or 405.
        """
        self._count += 1
        id_ = f"{self._count}"
        target = self._resender.target
        base = _root_of(target.upstream) if at_root else target.upstream
        target = ResendTarget(base, path, target.headers, target.key)
        limit, tokens, began_s = answer_limit(dict(body)), estimated_tokens(body), now_s()
        try:
            reserved, failure = await self._resender.send(_encoded(body), id_, tokens, limit, target=target)
        except RequestRefusedError as refused:
            self._refusals.append(refused.status)
            if self._refuses_all():
                raise ResendStoppedError(f"all of {len(self._refusals)} requests were refused; {refused}") from refused
            return ProbeAnswer(body, refused.status, failure=str(refused), began_s=began_s, ended_s=now_s())
        collected = self._collector.answers.pop(id_, None)
        if collected is None or collected.status is None:
            self._unanswered += 1
            is_silent = not self._has_answered and not self._refusals
            if is_silent and failure.startswith("no answer"):
                raise ResendStoppedError(f"the server at {base} cannot be reached; {failure}")
            if is_silent and self._unanswered >= _MAX_UNANSWERED:
                raise ResendStoppedError(f"none of {self._unanswered} requests got an answer; {failure}")
            return ProbeAnswer(body, None, failure=failure, began_s=began_s, ended_s=now_s())
        self._has_answered = True
        answer = ProbeAnswer(
            body,
            collected.status,
            failure=failure,
            content_type=collected.content_type,
            pieces=[(at_s, self._hide(raw)) for at_s, raw in collected.pieces],
            began_s=collected.began_s,
            ended_s=collected.ended_s,
        )
        generation = answer.turn.generation
        usage = generation.usage if generation is not None else None
        prompt = usage.input_tokens if usage is not None and usage.input_tokens is not None else tokens
        self._resender.bounds.settle(reserved, prompt, (usage.output_tokens or 0) if usage is not None else 0)
        return answer

    def _refuses_all(self) -> bool:
        """Whether the server refuses every request for the same reason, which is none of the requests' own."""
        statuses = set(self._refusals)
        is_alike = len(statuses) == 1 and statuses <= _OF_ALL_REQUESTS
        return is_alike and not self._has_answered and len(self._refusals) >= _MAX_UNANSWERED


def _root_of(upstream: str) -> str:
    return re.sub(r"/v\d+/*\Z", "", upstream)


def _encoded(body: Mapping[str, Json]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")


class _RawTexts:
    """Gets the model's own text of an answer with faults, by what its server supports.

    A method that the server refuses once, or that yields nothing, is not tried again. The methods:

    * `__verbose`, `logprobs`: the answer itself has the text, or a repetition of the request with `logprobs: true` has
      it. This is the text of the very answer that is parsed.
    * `/apply-template` (llama.cpp), `/tokenize` (vLLM): the server renders the prompt, and `/v1/completions` continues
      it with `skip_special_tokens: false`.
    * The request with `tool_choice: none`, `skip_special_tokens: false`, `separate_reasoning: false`: vLLM and SGLang
      do not parse it. Some servers leave the tools out then, so only a text with calls counts.
    """

    def __init__(self, asker: Asker, server_parser: str) -> None:
        self._asker, self._server_parser = asker, server_parser
        self._unsupported: set[RawMethod] = set()
        self._without_tokens: set[bool] = set()  # the values of `stream` with which the server gives no tokens

    async def owned(self, judged: JudgedAnswer) -> list[ProbeFinding]:
        """The findings of an answer with their owners, as far as they can be known."""
        findings = list(judged.findings)
        own = _own_text(judged.answer)
        if own is not None:
            return _owned(findings, self._compared(judged, own))
        findings = await self._by_repetition(judged, findings)
        has_text = False
        for method, ask in (
            (RawMethod.TEMPLATE, self._by_template),
            (RawMethod.TOKENIZE, self._by_tokens),
            (RawMethod.UNPARSED, self._unparsed),
        ):
            if not any(finding.owner is Owner.UNKNOWN for finding in findings):
                return findings
            if method in self._unsupported:
                continue
            text = await ask(judged)
            has_text = has_text or bool(text)
            if text:
                findings = _owned(findings, ComparedDelivery(judged, RawText(text, method)))
            elif text is None:
                self._unsupported.add(method)
        return [_explained(finding, has_text=has_text) for finding in findings]

    async def equal_texts(self, whole: JudgedAnswer, streamed: JudgedAnswer, finding: ProbeFinding) -> ProbeFinding:
        """The finding that two answers differ, with its owner: the server, if it changed the text of one of them."""
        for judged in (streamed, whole):
            again = await self._repeated(judged)
            if again is None:
                return _explained(finding)
            first_owned = owned(finding, self._compared(again, _repeated_text(again)))
            if first_owned.owner is Owner.SERVER:
                return first_owned
        evidence = (
            "In both modes the model's tokens are exactly what the server delivered: the model answered differently."
        )
        return structs.replace(finding, owner=Owner.MODEL, evidence=evidence)

    def _compared(self, judged: JudgedAnswer, raw: RawText) -> ComparedDelivery:
        return ComparedDelivery(judged, raw, self._server_parser)

    async def _repeated(self, judged: JudgedAnswer, *, streams: bool | None = None) -> JudgedAnswer | None:
        """The answer to the same request with `logprobs`, None if it has no tokens; `streams` may change its mode."""
        if _own_text(judged.answer) is not None:
            return judged
        body = judged.answer.body
        if streams is False:
            body = {key: value for key, value in body.items() if key not in ("stream", "stream_options")}
        is_streamed = body.get("stream") is True
        if is_streamed in self._without_tokens:
            return None
        answer = await self._asker.ask({**body, "logprobs": True})
        if answer.is_refused or (answer.is_answered and answer.token_text is None):
            self._without_tokens.add(is_streamed)
        return JudgedAnswer(judged.request, answer) if answer.is_answered and answer.token_text is not None else None

    async def _by_repetition(self, judged: JudgedAnswer, findings: list[ProbeFinding]) -> list[ProbeFinding]:
        # llama.cpp refuses `logprobs` in a stream with tools
        again = await self._repeated(judged) or await self._repeated(judged, streams=False)
        if again is None:
            return findings
        compared = self._compared(again, _repeated_text(again))
        same = {
            finding.kind: owned(finding, compared)
            for finding in reversed(again.findings)
            if finding.owner is Owner.UNKNOWN
        }
        return [
            finding if finding.owner is not Owner.UNKNOWN else _as(finding, same.get(finding.kind))
            for finding in findings
        ]

    async def _by_template(self, judged: JudgedAnswer) -> str | None:
        body = judged.answer.body
        sent = _members(body, "messages", "tools", "chat_template_kwargs")
        rendered = await self._asker.ask(sent, "/apply-template", at_root=True)
        prompt = word_of(_first_object(rendered).get("prompt"))
        return await self._completed(judged, prompt) if prompt else None

    async def _by_tokens(self, judged: JudgedAnswer) -> str | None:
        body = judged.answer.body
        sent = _members(body, "model", "messages", "tools", "chat_template_kwargs")
        rendered = await self._asker.ask({**sent, "add_generation_prompt": True}, "/tokenize", at_root=True)
        tokens = list_of(_first_object(rendered).get("tokens"))
        return await self._completed(judged, tokens) if tokens else None

    async def _completed(self, judged: JudgedAnswer, prompt: Json) -> str | None:
        body = judged.answer.body
        kept = _members(body, "model", "temperature", "seed", "top_p")
        limit = answer_limit(body) or _TEMPLATE_TOKENS
        sent = {**kept, "prompt": prompt, "max_tokens": limit, "skip_special_tokens": False, "stream": False}
        answer = await self._asker.ask(sent, "/completions")
        for choice in list_of(_first_object(answer).get("choices")):
            if isinstance(choice, dict) and isinstance(choice.get("text"), str):
                return word_of(choice["text"])
        return None

    async def _unparsed(self, judged: JudgedAnswer) -> str | None:
        body = {key: value for key, value in judged.answer.body.items() if key not in ("stream", "stream_options")}
        extra: dict[str, Json] = {"tool_choice": "none", "skip_special_tokens": False, "separate_reasoning": False}
        answer = await self._asker.ask({**body, **extra})
        if not answer.is_answered:
            return None
        text = word_of(answer.message.get("content"))
        compared = ComparedDelivery(judged, RawText(text, RawMethod.UNPARSED))
        return text if compared.written else ""


def _as(finding: ProbeFinding, twin: ProbeFinding | None) -> ProbeFinding:
    """A finding of the first answer, with the owner of the same finding of the repeated one, if that has it."""
    if twin is None:
        return structs.replace(
            finding, evidence="The request was repeated with `logprobs`, and did not fail in this way."
        )
    return structs.replace(finding, owner=twin.owner, evidence=twin.evidence, as_predicted=twin.as_predicted)


def _own_text(answer: ProbeAnswer) -> RawText | None:
    if answer.verbose_text is not None:
        return RawText(answer.verbose_text, RawMethod.VERBOSE)
    text = answer.token_text
    return RawText(text, RawMethod.LOGPROBS) if text is not None else None


def _repeated_text(judged: JudgedAnswer) -> RawText:
    text = _own_text(judged.answer)
    assert text is not None, "only answers with a text are repeated"
    return structs.replace(text, is_repeated=judged.answer.body.get("logprobs") is True)


def _owned(findings: Sequence[ProbeFinding], compared: ComparedDelivery) -> list[ProbeFinding]:
    return [owned(finding, compared) if finding.owner is Owner.UNKNOWN else finding for finding in findings]


def _explained(finding: ProbeFinding, *, has_text: bool = False) -> ProbeFinding:
    """A finding whose owner stays unknown, with the reason."""
    if finding.owner is not Owner.UNKNOWN or finding.evidence:
        return finding
    why = (
        "The model's own text could be had of another answer only, which does not show whose fault this is."
        if has_text
        else "The server gave no access to the model's own text of this answer, so the owner is unknown."
    )
    return structs.replace(finding, evidence=why)


def _members(body: Mapping[str, Json], *names: str) -> dict[str, Json]:
    return {name: body[name] for name in names if name in body}


def _first_object(answer: ProbeAnswer) -> dict[str, Json]:
    return answer.objects[0] if answer.objects and answer.status is not None and answer.status < 300 else {}


class ProbeState(Struct):
    """The state of a run: the answers so far, and the reason for an early end (`""` if there is none)."""

    done: int = 0
    stop: str = ""
    is_interrupted: bool = False
    bounds: SpendingBounds = field(default_factory=SpendingBounds)

    def end(self, why: str) -> None:
        """Stop sending; the first reason is kept."""
        self.stop = self.stop or why


class ProbeRun:
    """Runs a plan; `finished` is called with the answers of each request, on the event loop."""

    def __init__(
        self,
        plan: ProbePlan,
        target: ResendTarget,
        finished: Callable[[Sequence[ProbedAnswer]], None],
        *,
        bounds: SpendingBounds | None = None,
        done: frozenset[str] = frozenset(),
    ) -> None:
        """`done` are the hashes of requests that have their results already, from an earlier run."""
        self._plan, self._target, self._finished = plan, target, finished
        self.state = ProbeState(bounds=bounds or SpendingBounds())
        self._jobs = iter([request for request in plan.requests if not _is_done(plan, request, done)])
        self._tasks: list[asyncio.Task[None]] = []

    def interrupt(self) -> None:
        """Stop now; finished requests are kept. Call this on the event loop."""
        self.state.is_interrupted = True
        self.state.end("interrupted")
        for task in self._tasks:
            task.cancel()

    async def run(self) -> ProbeState:
        """Send requests until all are done, a bound is reached, or `interrupt` is called."""
        collector = _Collector()
        key = self._target.key if len(self._target.key) >= _MIN_KEY_CHARS else ""
        async with resending(
            self._target, collector, self.state.bounds, lambda text: text.replace(key, _HIDDEN) if key else text
        ) as resender:
            hide = _hider(key)
            asker = Asker(resender, collector, hide)
            raw = _RawTexts(asker, self._plan.server_parser)
            self._tasks = [asyncio.create_task(self._work(asker, raw)) for _ in range(self._plan.concurrency)]
            try:
                await asyncio.gather(*self._tasks)
            except asyncio.CancelledError:
                if not self.state.is_interrupted:
                    raise
            finally:
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)
            if self.state.stop and not self.state.done and resender.failure not in self.state.stop:
                self.state.stop += f"; {resender.failure}"
        return self.state

    async def _work(self, asker: Asker, raw: _RawTexts) -> None:
        for request in self._jobs:
            if self.state.stop:
                return
            try:
                answers = await self._probe(request, asker, raw)
            except ResendStoppedError as stopped:
                self.state.end(str(stopped))
                return
            self.state.done += len(answers)
            self._finished(answers)

    async def _probe(self, request: ProbeRequest, asker: Asker, raw: _RawTexts) -> list[ProbedAnswer]:
        judged = [JudgedAnswer(request, await asker.ask(body)) for body in self._plan.bodies(request)]
        findings = [await self._owned(answer, raw) for answer in judged]
        equal = _equal(judged)
        if equal is False and not any(
            finding.kind not in _FORM_KINDS for answer_findings in findings for finding in answer_findings
        ):
            finding = _differing(*judged)
            if self._plan.is_owner_sought:
                finding = await raw.equal_texts(judged[0], judged[1], finding)
            findings[1].append(finding)
        return [
            ProbedAnswer(
                record_of(judged_answer, answer_findings, equal=equal if judged_answer.answer.asked_stream else None),
                judged_answer,
            )
            for judged_answer, answer_findings in zip(judged, findings, strict=True)
        ]

    async def _owned(self, judged: JudgedAnswer, raw: _RawTexts) -> list[ProbeFinding]:
        is_unknown = any(finding.owner is Owner.UNKNOWN for finding in judged.findings)
        if not is_unknown or not self._plan.is_owner_sought:
            return list(judged.findings)
        return await raw.owned(judged)


def _is_done(plan: ProbePlan, request: ProbeRequest, done: frozenset[str]) -> bool:
    return bool(done) and all(request_hash(body) in done for body in plan.bodies(request))


_FORM_KINDS = frozenset(
    {
        *("id-missing", "id-changes", "object-wrong", "model-missing", "role-wrong", "usage-missing", "usage-wrong"),
        *("end-mark-missing", "call-id-missing", "call-id-repeated", "call-type-missing", "token-limit-exceeded"),
    }
)
"""Findings about the form that leave calls, text and finish reason as they are."""


def _equal(judged: Sequence[JudgedAnswer]) -> bool | None:
    """Whether the two answers to one request are equal; None unless there are two."""
    if len(judged) != 2 or not all(answer.answer.is_answered for answer in judged):
        return None
    return not any(_differences(*judged))


def _differences(whole: JudgedAnswer, streamed: JudgedAnswer) -> Iterator[str]:
    """How a streamed answer differs from the whole one, in words."""
    if len(whole.calls) != len(streamed.calls):
        yield f"{len(streamed.calls)} calls streamed, {len(whole.calls)} whole"
    for call, other in zip(whole.calls, streamed.calls, strict=False):
        if call.name != other.name or not same_arguments(call.raw_arguments, other.raw_arguments):
            in_stream, in_body = (f"`{sent.name}` with `{sent.raw_arguments}`" for sent in (other, call))
            yield f"{in_stream} streamed, {in_body} whole"
    if whole.content.strip() != streamed.content.strip():
        yield f"the content `{streamed.content[:80]}` streamed, `{whole.content[:80]}` whole"
    if whole.answer.finish_reason != streamed.answer.finish_reason:
        yield f"the finish reason `{streamed.answer.finish_reason}` streamed, `{whole.answer.finish_reason}` whole"


def _differing(whole: JudgedAnswer, streamed: JudgedAnswer) -> ProbeFinding:
    difference = next(_differences(whole, streamed))
    return ProbeFinding(
        "streamed-differs", Owner.UNKNOWN, f"The streamed answer differs from the whole one: {difference}."
    )


def _hider(key: str) -> Callable[[bytes], bytes]:
    raw = key.encode()
    return (lambda data: data.replace(raw, _HIDDEN.encode())) if key else (lambda data: data)
