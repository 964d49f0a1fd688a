"""Builds a dialect's Format, with its table from its own markers: those of calls, results, reasoning and tool lists.

The rest is common to all chat models: the turns of the roles, lists of tools in a system prompt, results that the model
must not write itself, closing markers that close nothing.

Sources: the chat templates and reasoning parsers of the families (vllm:vllm/reasoning, llama.cpp:models/templates).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Required, TypedDict

from msgspec import Struct, structs

from weaklink.inspector.formats import chat_turns
from weaklink.inspector.formats.format import DetectionPatterns, Format
from weaklink.inspector.formats.span_readers import read_definitions, read_result, reader_table
from weaklink.inspector.model import Role, SpanKind, ToolCall
from weaklink.inspector.rules import markers as rules
from weaklink.inspector.segmenter.events import JSON, FormatParser, Payload, SpanReader
from weaklink.inspector.segmenter.machine import Machine
from weaklink.inspector.segmenter.table import (
    HERE,
    HOME,
    Lookahead,
    LookaheadPiece,
    MarkerSplit,
    State,
    Table,
    Transition,
    unmarked,
)

_LIST_INTROS = ("following tools", "following functions", "available tools", "available functions")


class ReasoningTag(Struct, frozen=True):
    """One spelling of reasoning markers: the span's label, the opening and the closing marker.

    `instead_of` is the opener that the family's template writes, if this spelling is a mistake of its models;
    `other_closers` close it as well; one of `ended_by` ends it too, which is then reported.
    """

    label: str
    opener: str
    closer: str
    instead_of: str = ""
    other_closers: tuple[str, ...] = ()
    ended_by: tuple[Transition, ...] = ()


HERMES_TAGS = (
    ReasoningTag("think", "<think>", "</think>"),
    ReasoningTag("thinking", "<thinking>", "</thinking>"),
    ReasoningTag("scratch_pad", "<scratch_pad>", "</scratch_pad>"),
    ReasoningTag("inner_monologue", "[inner_monologue]", "[/inner_monologue]"),
    ReasoningTag("inner_monologue", "<inner_monologue>", "</inner_monologue>"),
)
"""The tags that Hermes models and Hermes training data use."""

THINK_TAGS = (ReasoningTag("think", "<think>", "</think>"),)
"""The tags that most families use."""

OTHER_TAGS = (
    ReasoningTag("think", "<think>", "</think>"),
    ReasoningTag("think", "[THINK]", "[/THINK]"),
    ReasoningTag("think", "<seed:think>", "</seed:think>"),
    ReasoningTag("think", "<mm:think>", "</mm:think>"),
    ReasoningTag("think", "<|START_THINKING|>", "<|END_THINKING|>"),
    ReasoningTag("think", "<|channel>thought", "<channel|>"),
    ReasoningTag("think", "<|channel|>analysis<|message|>", "<|end|>"),
    ReasoningTag("think", "◁think▷", "◁/think▷"),
)
"""The tags of single families; in other tables they matter only if a prompt ends with one."""

_LIST_BEGINNINGS = tuple(f"[{space}{{" for space in ("", " ", "\n", "\r\n", "\n ", "\n  ", "\n    ", "\n\t"))

_TOOLS_BEGINNINGS = tuple(
    f"<tools>{space}{first}" for space in ("", " ", "\n", "\n\n", "\r\n", "\n ", "\n  ", " \n") for first in "{["
)

_OPEN_TOOLS = tuple(
    Transition(marker, MarkerSplit.BEFORE, "tools", width=len("<tools>")) for marker in _TOOLS_BEGINNINGS
)


class Enclosed(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The markers before and after something; `closer` is "" if it has none, both if a dialect has no such thing."""

    opener: str = ""
    closer: str = ""


class Transitions(Struct, frozen=True):
    """The transitions of a dialect: into calls, reasoning and results, by stray closers, and by turn tokens.

    `invented` are those into results in the model's own turn.
    """

    calls: tuple[Transition, ...]
    reasoning: tuple[Transition, ...]
    results: tuple[Transition, ...]
    invented: tuple[Transition, ...]
    stray: tuple[Transition, ...]
    turns: tuple[Transition, ...]

    @property
    def out_of_text(self) -> tuple[Transition, ...]:
        """The transitions out of a text that the model writes."""
        return (*self.reasoning, *self.calls, *self.invented, *self.stray, *self.turns)

    @property
    def out_of_call(self) -> tuple[Transition, ...]:
        """The transitions out of a call besides its own end: each cuts the call off."""
        return (*self.calls, *self.invented, *self.reasoning, *self.turns)


def opening(opener: str, state: str) -> Transition:
    """The transition of a marker that opens a span of `state`."""
    return Transition(opener, MarkerSplit.BEFORE, state)


def closing(closer: str, state: str = HOME) -> Transition:
    """The transition of a marker that ends a span and belongs to it."""
    return Transition(closer, MarkerSplit.AFTER, state)


def inside(marker: str, state: str, *, width: int | None = None, ahead: Lookahead | None = None) -> Transition:
    """The transition of a marker that stays within its span, whose state changes."""
    return Transition(marker, MarkerSplit.NONE, state, width=width, ahead=ahead)


def call_state(
    name: str,
    transitions: Iterable[Transition],
    opener: str = "",
    closer: str = "",
    *,
    label: str = "tool_call",
    payload: Payload | None = None,
    then: str = "",
) -> State:
    """The state of a call; `then` is the state, still within the call, after the value of its payload."""
    ends = unmarked(then, MarkerSplit.NONE) if then else None
    return State(name, SpanKind.TOOL_CALL, tuple(transitions), label, opener, closer, payload, then=ends)


def opener_again(opener: str, *between: LookaheadPiece, expects: str = "") -> Transition:
    """The transition of an opener that another one follows, after `between`: it opens nothing."""
    ahead = Lookahead(*between, opener)
    expects = expects or f"`{opener}` once"
    return Transition(opener, MarkerSplit.BEFORE, "marker", rules.MALFORMED_HEADER, ahead=ahead, expects=expects)


class DialectParts(TypedDict, total=False):
    """What the builders of formats hand on to `dialect_format` as it is."""

    name: Required[str]
    summary: Required[str]
    models: Required[Iterable[str]]
    signs: Required[DetectionPatterns]
    aliases: Iterable[str]
    ids: bool
    near_calls: tuple[tuple[re.Pattern[str], str], ...]
    calls_only: bool
    results: Iterable[Enclosed]
    reasoning: Iterable[ReasoningTag]
    definitions: Iterable[Enclosed]
    turns: Iterable[Transition]
    turn_states: Iterable[State]
    special_tokens: Iterable[str]
    homes: Mapping[str, str]
    default_home: str
    tails: Mapping[str, str]
    cut_openers: Iterable[str]
    read_results: SpanReader
    read_tools: SpanReader
    read_text: SpanReader


def dialect_format(
    reader: SpanReader,
    drafts: SpanReader,
    *,
    name: str,
    summary: str,
    models: Iterable[str],
    signs: DetectionPatterns,
    write_calls: Callable[[Sequence[ToolCall]], str],
    expresses: Callable[[ToolCall], bool],
    aliases: Iterable[str] = (),
    ids: bool = False,
    builtin_tools: frozenset[str] = frozenset(),
    near_calls: tuple[tuple[re.Pattern[str], str], ...] = (),
    calls_only: bool = False,
    calls: Iterable[Transition] = (),
    call_states: Callable[[Transitions], Iterable[State]] = lambda _: (),
    call_closers: Iterable[str] = (),
    results: Iterable[Enclosed] = (),
    into_results: Iterable[Transition] = (),
    reasoning: Iterable[ReasoningTag] = THINK_TAGS,
    definitions: Iterable[Enclosed] = (),
    turns: Iterable[Transition] = (),
    turn_states: Iterable[State] = (),
    has_common_turns: bool = True,
    special_tokens: Iterable[str] = (),
    homes: Mapping[str, str] = chat_turns.ROLE_HOMES,
    default_home: str = "text",
    headless: str = "",
    tails: Mapping[str, str] = MappingProxyType({}),
    cut_openers: Iterable[str] = (),
    read_results: SpanReader = read_result,
    read_tools: SpanReader = read_definitions,
    read_text: SpanReader | None = None,
) -> Format:
    """The Format of a dialect whose calls `reader` reads, and `drafts` in reasoning; with its table.

    `calls` are the transitions into its call states; `call_states` builds those states (and any others that the dialect
    has) from all transitions. `call_closers` are the closing markers of calls, which are stray in a text. `results`
    become states named `result OPENER`, `reasoning` states named `reasoning OPENER`, `definitions` states named
    `definitions OPENER`; `into_results` are transitions into results whose states `call_states` builds. The model's own
    turn is in state `text`, those of others are `system`, `user` and `tool`. `turns` and `turn_states` are those of the
    dialect's own tokens, in addition to those that all chat models have if it `has_common_turns`; `special_tokens` are
    tokens of turns that this model's tokenizer knows, which are reported if they are text.
    `homes`, `default_home`, `headless`, `tails` and `cut_openers` are as in Table, the other parts as in Format. The
    states are built when the table is first used, which raises ValueError if the table is inconsistent.
    """
    common_turns, common_states = (
        (chat_turns.TURN_TRANSITIONS, chat_turns.TURN_STATES) if has_common_turns else ((), ())
    )
    turns, turn_states = (*common_turns, *turns), (*common_states, *turn_states)
    calls, call_closers, tags = tuple(calls), tuple(call_closers), tuple(reasoning)
    results, definitions, special_tokens = tuple(results), tuple(definitions), tuple(special_tokens)
    into_results = (*into_results, *(opening(result.opener, f"result {result.opener}") for result in results))

    def all_transitions(turns: tuple[Transition, ...]) -> Transitions:
        invented = tuple(structs.replace(transition, rule=rules.INVENTED_RESULT) for transition in into_results)
        closes = {tag.closer: f"reasoning {tag.opener}" for tag in reversed(tags)}
        closers = (closer for tag in tags for closer in (tag.closer, *tag.other_closers))
        known = {transition.marker for transition in (*calls, *into_results, *turns)}
        # A phrase, or a code fence, that closes nothing is text.
        stray = [
            Transition(closer, MarkerSplit.BEFORE, "marker", rules.STRAY_END_MARKER, closes=closes.get(closer, ""))
            for closer in dict.fromkeys((*closers, *call_closers, *(result.closer for result in results)))
            if closer and closer not in known and not (closer[0].isalpha() or closer == "```")
        ]
        if chat_turns.LLAMA_HEADER in known:
            is_own = chat_turns.HEADER_END in special_tokens
            stray.append(chat_turns.header_end_in_text(is_own=is_own, reads_headless=bool(headless)))
        return Transitions(calls, tuple(map(_into_reasoning, tags)), into_results, invented, tuple(stray), turns)

    def states() -> tuple[State, ...]:
        flagged_turns = chat_turns.flagged(turns, special_tokens)
        transitions = all_transitions(flagged_turns)
        closers = {tag.closer for tag in tags}
        more_tags = tuple(tag for tag in OTHER_TAGS if tag.opener not in {own_tag.opener for own_tag in tags})
        return (
            State("text", SpanKind.TEXT, transitions.out_of_text),
            *_prompt_states(transitions, definitions),
            *call_states(transitions),
            *(
                enclosed_state(
                    f"result {result.opener}",
                    SpanKind.TOOL_RESULT,
                    result,
                    (other_closer(result.closer), *flagged_turns),
                )
                for result in results
            ),
            *(_reasoning(tag, closers, flagged_turns) for tag in (*tags, *more_tags)),
            *turn_states,
        )

    table = Table(states, homes, default_home, headless=headless, tails=tails, cut_openers=tuple(cut_openers))

    def new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
        return Machine(table, role=role.value, prompt=prompt)

    return Format(
        name=name,
        summary=summary,
        aliases=tuple(aliases),
        models=tuple(models),
        confidence=signs,
        new_parser=new_parser,
        readers=reader_table(reader, drafts, results=read_results, definitions=read_tools, text=read_text),
        write_calls=write_calls,
        expresses=expresses,
        ids=ids,
        builtin_tools=builtin_tools,
        near_calls=near_calls,
        calls_only=calls_only,
    )


def _into_reasoning(tag: ReasoningTag) -> Transition:
    into = opening(tag.opener, f"reasoning {tag.opener}")
    if not tag.instead_of:
        return into
    return structs.replace(into, rule=rules.MALFORMED_HEADER, expects=f"`{tag.instead_of}`")


_LABELS = {SpanKind.TOOL_CALL: "tool_call", SpanKind.TOOL_RESULT: "tool_response", SpanKind.TOOL_DEFINITIONS: "tools"}


def enclosed_state(
    name: str,
    kind: SpanKind,
    marks: Enclosed,
    others: Iterable[Transition],
    payload: Payload | None = None,
    *,
    target: str = HOME,
) -> State:
    """The state of a text between two markers: the closer leads to `target`, each of `others` cuts the text off."""
    leaving = (transition for transition in others if transition.marker != marks.closer)
    transitions = (closing(marks.closer, target), *leaving)
    return State(name, kind, transitions, _LABELS[kind], marks.opener, marks.closer, payload)


def call_end(
    name: str,
    target: str = HOME,
    stops: str = r"[^\]}]",
    transitions: tuple[Transition, ...] = (),
    label: str = "tool_call",
) -> State:
    """The state after a call without a closing marker: a surplus bracket still belongs to the call that it breaks."""
    return State(name, SpanKind.TOOL_CALL, transitions, label, other=stops, other_transition=unmarked(target))


def text_state(
    name: str,
    transitions: Iterable[Transition],
    begun: Transition,
    stops: str = r"\S",
    otherwise: Transition | None = None,
    *,
    by_model: bool = True,
) -> State:
    """The state of a text that has not begun: its first character of the class `stops` leads to `begun`."""
    return State(
        name,
        SpanKind.TEXT,
        tuple(transitions),
        by_model=by_model,
        other=stops,
        other_transition=begun,
        otherwise=otherwise,
    )


def tool_turn(into_results: Iterable[Transition], turns: Iterable[Transition]) -> State:
    """The state `tool turn`: a tool's turn whose results have no turn header before them."""
    return text_state("tool turn", (*into_results, *turns), unmarked("bare_result"))


TOOL_TURN_HOMES = {role: "tool turn" if home == "tool" else home for role, home in chat_turns.ROLE_HOMES.items()}
"""The homes of a dialect that has the state `tool turn`."""
BARE_HOMES = {role: "start" if home == "text" else home for role, home in chat_turns.ROLE_HOMES.items()}
"""The homes of a dialect whose texts begin in the state `start`, since calls without a marker may begin there."""


def other_closer(closer: str) -> Transition:
    """The transition of a closing tag in square brackets for one in angle brackets, and vice versa."""
    variant = f"[{closer[1:-1]}]" if closer[0] == "<" else f"<{closer[1:-1]}>"
    return Transition(variant, MarkerSplit.AFTER, HOME, rules.WRONG_BRACKET_VARIANT)


def _prompt_states(transitions: Transitions, definitions: tuple[Enclosed, ...]) -> tuple[State, ...]:
    """The states of turns that the model does not write: a call in them does not count."""
    into_definitions = tuple(opening(enclosed.opener, f"definitions {enclosed.opener}") for enclosed in definitions)
    from_results = (*transitions.results, *transitions.turns)
    into_lists = tuple(Transition(marker, MarkerSplit.BEFORE, "tool_list", width=0) for marker in _LIST_BEGINNINGS)
    intros = (inside(words, "list_intro") for words in _LIST_INTROS)
    from_system = (*_OPEN_TOOLS, *into_definitions, *intros, *transitions.turns)
    return (
        State("system", SpanKind.TEXT, from_system, by_model=False),
        text_state("list_intro", into_lists, unmarked("system", MarkerSplit.NONE), r"[^\s:]", by_model=False),
        State("user", SpanKind.TEXT, (*from_results, *_OPEN_TOOLS, *into_definitions), by_model=False),
        text_state("tool", from_results, unmarked("bare_result"), by_model=False),
        State("bare_result", SpanKind.TOOL_RESULT, from_results, label="bare"),
        enclosed_state("tools", SpanKind.TOOL_DEFINITIONS, Enclosed("<tools>", "</tools>"), transitions.turns),
        State(
            "tool_list",
            SpanKind.TOOL_DEFINITIONS,
            (),
            "tool_list",
            closer="]",
            payload=JSON,
            then=unmarked(HOME, MarkerSplit.AFTER),
            broken_transition=unmarked(HOME),
        ),
        *(
            enclosed_state(f"definitions {marks.opener}", SpanKind.TOOL_DEFINITIONS, marks, transitions.turns)
            for marks in definitions
        ),
    )


def _reasoning(tag: ReasoningTag, known: set[str], turns: tuple[Transition, ...]) -> State:
    variant = other_closer(tag.closer)
    leaving = (
        *map(closing, (tag.closer, *tag.other_closers)),
        *((variant,) if variant.marker in known else ()),
        *tag.ended_by,
        Transition(tag.opener, MarkerSplit.NONE, HERE, rules.NESTED_SPAN),
        *(
            transition
            for transition in chat_turns.out_of_reasoning(turns)
            if not tag.closer.startswith(transition.marker) and transition.marker not in tag.other_closers
        ),
    )
    return State(f"reasoning {tag.opener}", SpanKind.REASONING, leaving, tag.label, tag.opener, tag.closer)
