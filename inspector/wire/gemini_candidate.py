"""One candidate of a Gemini answer: its pieces of text, thoughts and calls as wire events.

Candidate 0 is the turn. Any other is kept apart, in parts that begin with `choice1:`; its calls are not announced, for
nobody ran them: their names, ids and the finish reason are parts too (`choice1:call:0:name`). Signatures of thoughts
are kept in `wire:signature:N`, N counting the answer's parts as they come. What the server ran itself
(`executableCode`, `codeExecutionResult`, ...) and media are kept word for word in `content:N`.
"""

from inspector.wire.events import CallNamed, PartGrew, WireEvent
from inspector.wire.gemini_shapes import Candidate, FunctionCall, LogprobsResult, camel_case, read_part
from inspector.wire.json_text import parse_json
from inspector.wire.shapes import raw_text

MESSAGE_PART = "wire:finish_message"
"""The part that keeps the server's words for why it ended or blocked; a malformed call stands nowhere else."""

_READ = frozenset({"text", "thought", "thoughtSignature", "functionCall"})
_KEPT = frozenset({"executableCode", "codeExecutionResult", "inlineData", "fileData", "toolCall", "toolResponse"})
_KEPT_MEMBERS = (
    (MESSAGE_PART, "finish_message"),
    ("wire:citations", "citation_metadata"),
    ("wire:grounding", "grounding_metadata"),
    ("wire:url_context", "url_context_metadata"),
)


class CandidateReader:
    """Turns the pieces of one candidate into events; `last_part` is the part that grew last."""

    __slots__ = ("_calls", "_count", "_prefix", "last_part")

    def __init__(self, index: int) -> None:
        self._prefix = f"choice{index}:" if index else ""
        self._calls = 0
        self._count = 0  # of parts
        self.last_part = f"{self._prefix}text"

    def read(self, candidate: Candidate, at_s: float | None, found: list[WireEvent]) -> list[str]:
        """Append the events of a piece; the paths of what is not known come back."""
        first = len(found)
        strange = []
        for part in (candidate.content.parts if candidate.content else None) or ():
            strange += self._read_part(raw_text(part), at_s, found)
        if candidate.logprobs_result:
            self._add_tokens(candidate.logprobs_result, first, at_s, found)
        for part_name, member in _KEPT_MEMBERS:
            value = getattr(candidate, member)
            if text := value if isinstance(value, str) else raw_text(value) if value is not None else "":
                found.append(PartGrew(self._prefix + part_name, text, at_s))
        if self._prefix and candidate.finish_reason:
            found.append(PartGrew(f"{self._prefix}finish_reason", candidate.finish_reason, at_s))
        return strange

    def _read_part(self, text: str, at_s: float | None, found: list[WireEvent]) -> list[str]:
        index = self._count
        self._count += 1
        try:
            part, strange = read_part(text)
        except ValueError:
            return ["content.parts[]"]
        kinds = self._kinds(text) if strange else set()
        if kinds & _KEPT and not kinds & {"text", "functionCall"}:
            found.append(PartGrew(f"{self._prefix}content:{index}", text, at_s))
            strange = sorted(kinds - _KEPT - _READ)
        if part.text:
            self._grow("reasoning" if part.thought else "text", part.text, at_s, found)
        if part.function_call is not None:
            self._read_call(part.function_call, at_s, found)
        if part.thought_signature:
            found.append(PartGrew(f"{self._prefix}wire:signature:{index}", part.thought_signature, at_s))
        return [f"part.{path}" for path in strange]

    def _kinds(self, text: str) -> set[str]:
        document = parse_json(text)
        return {camel_case(key) for key in document} if isinstance(document, dict) else set()

    def _read_call(self, call: FunctionCall, at_s: float | None, found: list[WireEvent]) -> None:
        part = f"{self._prefix}call:{self._calls}"
        self._calls += 1
        self.last_part = part
        if self._prefix:
            named = (("name", call.name), ("id", call.id))
            found += [PartGrew(f"{part}:{what}", word, at_s) for what, word in named if word]
        else:
            found.append(CallNamed(part, call.name or None, call.id or None))
        if arguments := raw_text(call.args):
            found.append(PartGrew(part, arguments, at_s))

    def _grow(self, part: str, text: str, at_s: float | None, found: list[WireEvent]) -> None:
        self.last_part = self._prefix + part
        found.append(PartGrew(self.last_part, text, at_s))

    def _add_tokens(self, result: LogprobsResult, first: int, at_s: float | None, found: list[WireEvent]) -> None:
        """Give tokens to the first text that came with them, or to an empty one."""
        tokens = result.chosen_candidates or []
        if not tokens:
            return
        token_ids = tuple(token.token_id for token in tokens)
        logprobs = tuple(token.log_probability for token in tokens)
        at = next((n for n in range(first, len(found)) if isinstance(found[n], PartGrew)), None)
        grew = PartGrew(self.last_part, "", at_s) if at is None else found[at]
        assert isinstance(grew, PartGrew)
        new = PartGrew(grew.part, grew.text, at_s, token_ids if any(token_ids) else None, logprobs)
        found[len(found) if at is None else at : len(found) if at is None else at + 1] = [new]
