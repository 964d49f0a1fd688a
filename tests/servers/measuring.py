"""Measures what servers' own parsers return: `make server-table` writes the table, `make test-servers` checks it.

Usage: python -m tests.servers.measuring [--write | --add | --streams | --check]
       [--seed WORD] [--texts N] [--only WORD...]

Each parser runs over N texts of its format (tests/servers/texts.py), with a reasoning parser where the text has
reasoning, and over one text in three as a stream too. Without `--write`, the predictions that the stored table gives
are compared with the results: wrong ones are printed, and the exit status is 1. `tests/cases/servers/answers.jsonl` has
a sample of results, so that the ordinary tests notice a changed reading of a text.

How rows come to be. The texts of one set of fault codes are one group. If one outcome describes every result of it, it
is a row. Otherwise the group is split by the fact that leaves the most texts in groups with one outcome, at most
MAX_FACTS times. A fact that varied in fewer than FEWEST_OTHERS texts of a row is one of its conditions, since nothing
is known of the other texts. A group of fewer than MIN_TEXTS texts (MIN_WORDED_TEXTS where the wording of faults is the
same) is no row, and a row that other texts contradict is dropped. All texts that have one fault, alone or with others,
are a group too, which is split at most once. Texts that no row is about are grouped by the wording of their faults.
What one faulty call alone cannot show (whether it takes others with it) stays open in the row: it names both outcomes.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple, TextIO

from tests.case_files import load
from tests.mutations import CASES
from tests.servers.parsers import VERSIONS, MeasuredParser, measured_parsers
from tests.servers.texts import TOOLS, plain_texts_of, texts_of
from weaklink.inspector.formats.server_parsers import (
    FACTS,
    BehaviourRow,
    ParserOutcome,
    Prediction,
    ReadCall,
    TextKind,
    canonical_json,
    predictions,
    text_kind,
)
from weaklink.inspector.rules.markers import CALL_INSIDE_REASONING, FOREIGN_FORMAT
from weaklink.inspector.segmentation import Segmentation, segment
from weaklink.ui.cli.files import tool_definitions

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "inspector" / "formats" / "server_behaviour.json"
ANSWERS = ROOT / "tests" / "cases" / "servers" / "answers.jsonl"
MATRIX = ANSWERS.with_name("matrix.jsonl")
INSTALLED = ROOT / "build" / "servers"
HARNESS = Path(__file__).parent / "real"
MIN_TEXTS, MIN_TEXTS_WITH_REASONING, MIN_WORDED_TEXTS = 40, 18, 20
FEWEST_OTHERS = 5
MAX_FACTS = 3
SAMPLE_EVERY = 80
_UNDECIDED = ("F301", "F305")  # a marker that lacks or is misplaced may be made up for by another fault
_STREAM_STEP = 3  # tokens in a delta
_STREAM_EVERY = 3
_LONGEST_CASE = 2_000
_STUB_ERRORS = (
    "AssertionError",
    "AttributeError",
    "ImportError",
    "TypeError",
    "JobTimeoutError",
    "NotImplementedError",
)

Answer = dict[str, Any]


class Result(NamedTuple):
    """What one parser returned for one text, at once and (where it was tried) as a stream."""

    parser: MeasuredParser
    text: str
    whole: Answer
    streamed: Answer | None


def results(parsers: Sequence[MeasuredParser], texts: Mapping[str, Sequence[str]]) -> list[Result]:
    """Runs every parser over the texts of its format; one with a reasoning parser over those with reasoning."""
    return [result for parser in parsers for result in _results_of(parser, texts.get(parser.format, ()))]


def _results_of(parser: MeasuredParser, texts: Sequence[str]) -> Iterator[Result]:
    chosen = [(text, index % _STREAM_EVERY == 0) for index, text in enumerate(texts) if _is_for(parser, text)]
    jobs = [(text, step) for text, streams in chosen for step in ((0, _STREAM_STEP) if streams else (0,))]
    answers = answers_to(parser, jobs)
    for text, streams in chosen:
        yield Result(parser, text, answers[text, 0], answers[text, _STREAM_STEP] if streams else None)


def _is_for(parser: MeasuredParser, text: str) -> bool:
    kind = kind_of(parser.format, text)
    return kind is not None and kind.has_reasoning is (parser.reasoning is not None)


Job = tuple[str, int]
"""A text, and the number of tokens in a delta, 0 for the whole text at once."""


def answers_to(parser: MeasuredParser, jobs: Sequence[Job]) -> dict[Job, Answer]:
    """The answers to the jobs; those of an earlier run of the same harness are not asked for again."""
    path = _answers_folder() / f"{parser.server}-{parser.tool}-{parser.reasoning}.jsonl".replace("/", "_")
    path.touch()
    with path.open("r+", encoding="utf-8") as file:
        flock(file, LOCK_EX)  # another run may ask the same parser
        answers = {(row["text"], row["stream"]): row["result"] for row in map(json.loads, _whole_lines(file))}
        missing = list(dict.fromkeys(job for job in jobs if job not in answers))
        for (text, stream), result in zip(missing, _run(parser, missing), strict=True):
            answers[text, stream] = result
            file.write(json.dumps({"text": text, "stream": stream, "result": result}) + "\n")
    return answers


def _whole_lines(file: TextIO) -> list[str]:
    """The lines of a file, which is then ready to be continued after the last complete one."""
    content = file.read()
    end = content.rfind("\n") + 1
    file.seek(len(content[:end].encode()))
    file.truncate()
    return content[:end].splitlines()


@cache
def _answers_folder() -> Path:
    """Where answers are stored: a folder for each version of the servers, the harness and the tools."""
    sources = [path.read_bytes() for path in sorted(HARNESS.glob("*.py"))]
    digest = sha256(b"".join([*sources, json.dumps([TOOLS, VERSIONS]).encode()])).hexdigest()[:12]
    folder = INSTALLED / "answers" / digest
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _run(parser: MeasuredParser, jobs: Sequence[Job]) -> Iterator[Answer]:
    """Each job's answer, from a process of the servers' environment."""
    if not jobs:
        return
    server = parser.server.lower()
    python = INSTALLED / "env" / "bin" / "python"
    command = [str(python), "-B", str(HARNESS / "run.py"), server, str(INSTALLED / server)]
    with TemporaryFile("w+", encoding="utf-8") as lines:
        for text, step in jobs:
            job = {"id": 0, "tool": parser.tool, "reasoning": parser.reasoning, "stream": step, "text": text}
            lines.write(json.dumps({**job, "tools": TOOLS}) + "\n")
        lines.seek(0)
        with subprocess.Popen(command, stdin=lines, stdout=subprocess.PIPE, text=True) as process:
            yield from (json.loads(line)["result"] for line in process.stdout or ())
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)


@cache
def read(format: str, text: str) -> Segmentation:
    """The text as weaklink reads it, with the tools of the texts."""
    return segment(text, format, tools=tool_definitions(TOOLS))


def kind_of(format: str, text: str) -> TextKind | None:
    """The kind of a text."""
    result = read(format, text)
    return text_kind(text, format, result.spans, result.calls, [diagnostic.fault for diagnostic in result.diagnostics])


def predicted(format: str, text: str) -> tuple[Prediction, ...]:
    """The predictions for a text."""
    result = read(format, text)
    return predictions(
        text, format, result.spans, result.calls, [diagnostic.fault for diagnostic in result.diagnostics]
    )


def outcomes_of(kind: TextKind, answer: Answer) -> frozenset[ParserOutcome]:
    """Every outcome that describes an answer; empty if none does."""
    calls = kind.calls
    if "error" in answer:
        return frozenset([ParserOutcome.ERROR])
    returned = [(call["name"], call["arguments"]) for call in answer["tool_calls"]]
    every = range(len(calls))
    faulty = {index for index in every if calls[index].faulty}
    unknown = {index for index in every if calls[index].unknown}
    selections = {
        ParserOutcome.NONE: (),
        ParserOutcome.ALL: tuple(every),
        ParserOutcome.SOUND: tuple(index for index in every if index not in faulty),
        ParserOutcome.KNOWN: tuple(index for index in every if index not in unknown),
        ParserOutcome.SOUND_AND_KNOWN: tuple(index for index in every if index not in faulty | unknown),
        ParserOutcome.FIRST: tuple(every[:1]),
    }
    same = {
        outcome
        for outcome, selected in selections.items()
        if len(selected) == len(returned)
        and all(_is_same(call, calls[index]) for call, index in zip(returned, selected, strict=True))
    }
    if [name for name, _ in returned] == [call.name or "" for call in calls]:
        same.add(ParserOutcome.NAMES)
        if faulty and all(index in faulty or _is_same(returned[index], calls[index]) for index in every):
            altered = {_altered(returned[index], calls[index]) for index in faulty}
            same.update(alteration for alteration in altered if alteration is not None and len(altered) == 1)
    drafts = len(kind.drafts)
    names = (*kind.drafts, *(call.name for call in calls))
    if drafts and tuple(name for name, _ in returned) == names and all(map(_is_same, returned[drafts:], calls)):
        same.add(ParserOutcome.WITH_DRAFTS)
    return frozenset(same)


def _is_same(returned: tuple[str, str], call: ReadCall) -> bool:
    try:
        return returned[0] == (call.name or "") and canonical_json(json.loads(returned[1])) == call.arguments
    except (ValueError, TypeError):
        return False


def _altered(returned: tuple[str, str], call: ReadCall) -> ParserOutcome | None:
    if _is_same(returned, call):
        return None
    if (returned[1] or "").strip() in ("", "{}"):
        return ParserOutcome.FAULTY_EMPTY
    try:
        json.loads(returned[1])
    except ValueError:
        return ParserOutcome.FAULTY_RAW
    return ParserOutcome.FAULTY_OTHER


class Observation(NamedTuple):
    """One measured text of a parser: its kind, and the outcomes that describe what was returned for it."""

    parser: MeasuredParser
    kind: TextKind
    whole: frozenset[ParserOutcome]
    streamed: frozenset[ParserOutcome] | None

    @property
    def facts(self) -> frozenset[str]:
        """The facts of the text."""
        return self.kind.facts


def observed(measured: Iterable[Result]) -> Iterator[Observation]:
    """The results for the texts that a row can be about, without those where the stubs failed, not the parser."""
    for result in measured:
        kind = kind_of(result.parser.format, result.text)
        if kind is not None and not _is_stub_error(result.whole):
            stream = result.streamed
            streamed = None if stream is None or _is_stub_error(stream) else outcomes_of(kind, stream)
            yield Observation(result.parser, kind, outcomes_of(kind, result.whole), streamed)


RowValue = tuple[str, list[str], str, str, int]


def rows_of(observations: Iterable[Observation]) -> list[RowValue]:
    """The rows of one parser, from the observations of its texts: exact ones, then those that one fault decides."""
    groups: dict[str, list[Observation]] = defaultdict(list)
    led: dict[str, list[Observation]] = defaultdict(list)
    for observation in observations:
        groups[observation.kind.codes].append(observation)
        for code in observation.kind.codes.split("+"):
            if code not in _UNDECIDED:
                led[f"{code}+*"].append(observation)
    several = {codes: group for codes, group in led.items() if any("+" in seen.kind.codes for seen in group)}
    exact = [row for codes in sorted(groups) for row in _split(codes, groups[codes], [])]
    exact += _worded([observation for group in groups.values() for observation in group], exact)
    return exact + [row for codes in sorted(several) for row in _split(codes, several[codes], [], max_facts=1)]


def _worded(observations: Iterable[Observation], rows: Iterable[RowValue]) -> list[RowValue]:
    """The rows for texts that none of `rows` is about, grouped by the wording of their faults.

    Not for texts without a call that weaklink reads: how models write calls otherwise varies more than the wording.
    """
    known = [_row(row) for row in rows]
    groups: dict[tuple[str, tuple[str, ...]], list[Observation]] = defaultdict(list)
    for observation in observations:
        is_read = "none" not in observation.facts or not observation.kind.codes
        if is_read and not any(row.covers(observation.kind) for row in known):
            groups[observation.kind.wordings, ("bracketed",) if "bracketed" in observation.facts else ()].append(
                observation
            )
    return [row for key in sorted(groups) for row in _split(key[0], groups[key], [*key[1]])]


def _row(value: RowValue) -> BehaviourRow:
    return BehaviourRow(value[0], tuple(value[1]), *value[2:])


def _split(codes: str, group: Sequence[Observation], facts: list[str], *, max_facts: int = MAX_FACTS) -> list[RowValue]:
    fewest = min(_fewest(group), MIN_WORDED_TEXTS) if ": " in codes else _fewest(group)
    if len(group) < fewest:
        return []
    shared = _shared(observation.whole for observation in group)
    conditions = [*facts, *_unvaried(group, facts)]
    if shared and not _is_vague(conditions):
        streams = [observation.streamed for observation in group if observation.streamed is not None]
        streamed = _shared(streams) if len(streams) >= fewest // _STREAM_EVERY else frozenset[ParserOutcome]()
        return _by_stream((codes, conditions, _named(shared), _named(streamed), len(group)), group)
    if shared or len(facts) == max_facts:
        return []
    tried = (_split_by(codes, group, facts, fact, max_facts) for fact in FACTS if fact not in _plain(facts))
    return max(tried, key=lambda rows: (sum(row[-1] for row in rows), -len(rows)))


def _by_stream(row: RowValue, group: Sequence[Observation]) -> list[RowValue]:
    """The rows in place of one that only its whole texts agree on: two, if a fact decides what a stream returns.

    It decides if all streams with it, or all without it, agree, and none of the others does.
    """
    codes, conditions, whole, streamed, _ = row
    fewest = _fewest(group) // _STREAM_EVERY
    for fact in FACTS if not _tells(streamed) else ():
        parts = [
            [observation for observation in group if (fact in observation.facts) is holds] for holds in (False, True)
        ]
        streams = [[seen.streamed for seen in part if seen.streamed is not None] for part in parts]
        if fact in _plain(conditions) or min(map(len, streams)) < FEWEST_OTHERS:
            continue
        shared = [_shared(part) for part in streams]
        agreed = [outcomes - {ParserOutcome.NAMES} for outcomes in shared]
        for this, other in ((0, 1), (1, 0)):
            if len(streams[this]) >= fewest and agreed[this] and all(map(agreed[this].isdisjoint, streams[other])):
                return [
                    (codes, [*conditions, name], whole, _named(outcomes), len(part))
                    for name, outcomes, part in zip((f"-{fact}", fact), shared, parts, strict=True)
                ]
    return [row]


def _tells(outcomes: str) -> bool:
    return outcomes not in ("", ParserOutcome.NAMES)


def _is_vague(facts: Iterable[str]) -> bool:
    """Whether a layout decides that only is not the template's, wherever it differs: parsers allow different ones."""
    named = {*facts}
    return "-written" in named or ("spaced" in named and not {"drafted", "bracketed", "apart"} & named)


def _fewest(group: Sequence[Observation]) -> int:
    return MIN_TEXTS_WITH_REASONING if group and group[0].parser.reasoning else MIN_TEXTS


def _split_by(codes: str, group: Sequence[Observation], facts: list[str], fact: str, max_facts: int) -> list[RowValue]:
    having = [observation for observation in group if fact in observation.facts]
    lacking = [observation for observation in group if fact not in observation.facts]
    if not having or not lacking:
        return []
    return [
        row
        for part, more in ((lacking, f"-{fact}"), (having, fact))
        for row in _split(codes, part, [*facts, more], max_facts=max_facts)
    ]


def _unvaried(group: Sequence[Observation], facts: Iterable[str]) -> Iterator[str]:
    """The facts that hold for nearly all or nearly none of the texts: what happens otherwise is not known."""
    may_be_written = group[0].kind.codes in ("", CALL_INSIDE_REASONING.code)
    considered = [fact for fact in FACTS if fact != "written" or may_be_written]
    for fact in considered:
        having = sum(fact in observation.facts for observation in group)
        if fact not in _plain(facts) and min(having, len(group) - having) < FEWEST_OTHERS:
            yield fact if having > len(group) - having else f"-{fact}"


def _plain(facts: Iterable[str]) -> set[str]:
    return {fact.removeprefix("-") for fact in facts}


def _shared(outcomes: Iterable[frozenset[ParserOutcome]]) -> frozenset[ParserOutcome]:
    return frozenset.intersection(*outcomes)


def _named(outcomes: frozenset[ParserOutcome]) -> str:
    """The outcomes, the most telling one first; `names` only if nothing else holds."""
    telling = outcomes - {ParserOutcome.NAMES} or outcomes
    return "/".join(sorted(telling, key=[str(outcome) for outcome in ParserOutcome].index))


def write_table(observations: Iterable[Observation], checked: Iterable[Observation], *, adds: bool = False) -> None:
    """Writes rows of the measured parsers, one a line, without those that one of the `checked` contradicts.

    The rows of parsers that were not measured now stay, and all that nothing contradicts if the new ones are added.
    """
    texts: dict[MeasuredParser, list[Observation]] = defaultdict(list)
    others: dict[MeasuredParser, list[Observation]] = defaultdict(list)
    for observation in observations:
        texts[observation.parser].append(observation)
    for observation in checked:
        others[observation.parser].append(observation)
    with _changed_rows() as rows:
        for parser, group in texts.items():
            known = _confirmed(rows[parser], [*group, *others[parser]]) if adds else []
            rows[parser] = [*known, *_settled(partial(_worded, rows=known) if adds else rows_of, group, others[parser])]


@contextmanager
def _changed_rows() -> Iterator[dict[MeasuredParser, list[RowValue]]]:
    """The stored rows, written again at the end; another run that changes them waits."""
    with TABLE.open("rb") as file:
        flock(file, LOCK_EX)
        rows = _stored_rows()
        yield rows
        _write_blocks(rows)


def _stored_rows() -> dict[MeasuredParser, list[RowValue]]:
    stored = {
        MeasuredParser(block["server"], block["name"], block["reasoning"], block["format"]): block.get("rows", [])
        for block in json.loads(TABLE.read_bytes())
    }
    return {parser: [_value(row) for row in stored.get(parser, [])] for parser in measured_parsers()}


def _write_blocks(rows: Mapping[MeasuredParser, Sequence[RowValue]]) -> None:
    blocks = [_block(parser, rows[parser]) for parser in measured_parsers()]
    TABLE.write_text("[\n" + ",\n".join(blocks) + "\n]\n", encoding="utf-8")


def _settled(
    made: Callable[[Sequence[Observation]], Sequence[RowValue]],
    group: Sequence[Observation],
    checked: Sequence[Observation],
) -> list[RowValue]:
    """The rows made of a group that none of the checked observations contradicts.

    A contradicting one joins the group, a few times, so that a fact may separate it from the others.
    """
    for _ in range(MAX_FACTS):
        rows = [_row(row) for row in made(group)]
        contradicting = [observation for observation in checked if any(_contradicts(observation, row) for row in rows)]
        if not contradicting:
            break
        group = [*group, *contradicting]
    return _confirmed(made(group), checked)


def _contradicts(observation: Observation, row: BehaviourRow) -> bool:
    return row.covers(observation.kind) and observation.whole.isdisjoint(row.whole.split("/"))


def _confirmed(rows: Sequence[RowValue], checked: Sequence[Observation]) -> list[RowValue]:
    kept = []
    for row in rows:
        value = _row(row)
        about = [observation for observation in checked if value.covers(observation.kind)]
        wholes = _still(row[2], (observation.whole for observation in about))
        streams = _still(row[3], (observation.streamed for observation in about if observation.streamed is not None))
        if wholes:
            kept.append((row[0], row[1], wholes, streams, row[4] + len(about)))
    return kept


def _still(outcomes: str, found: Iterable[frozenset[ParserOutcome]]) -> str:
    """Those of a row's outcomes that describe these results too."""
    kept = [outcome for outcome in outcomes.split("/") if outcome]
    for outcome_set in found:
        kept = [outcome for outcome in kept if outcome in outcome_set]
    return "/".join(kept)


def _value(row: Sequence[Any]) -> RowValue:
    codes, facts, whole, streamed, texts = row
    return codes, facts, whole, streamed, texts


def _block(parser: MeasuredParser, rows: Sequence[RowValue]) -> str:
    head = {
        "server": parser.server,
        "version": VERSIONS[parser.server],
        "name": parser.tool,
        "reasoning": parser.reasoning,
        "format": parser.format,
    }
    lines = ",\n    ".join(json.dumps(row) for row in rows)
    return json.dumps(head)[:-1] + f', "rows": [\n    {lines}\n  ]}}' if rows else json.dumps(head)


def wrong_predictions(measured: Iterable[Result]) -> tuple[Counter[str], list[str]]:
    """Counts of right, wrong and no predictions for results, and a description of each wrong one."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for result in measured:
        parser = (result.parser.server, result.parser.tool, result.parser.reasoning)
        made = next(
            (
                prediction
                for prediction in predicted(result.parser.format, result.text)
                if (prediction.parser.server, prediction.parser.name, prediction.parser.reasoning) == parser
            ),
            None,
        )
        for answer, is_streamed in ((result.whole, False), (result.streamed, True)):
            if answer is None:
                continue
            if made is None or (is_streamed and not made.streams_alike) or _is_stub_error(answer):
                counts["none"] += 1
            elif agrees(made, answer):
                counts["right"] += 1
            else:
                counts["wrong"] += 1
                head = f"{parser} {made.behaviour} {made.row} (streamed: {is_streamed})"
                wrong.append(f"{head}\n  {result.text!r}\n  {answer}")
    return counts, wrong


def _is_stub_error(answer: Answer) -> bool:
    return bool(answer.get("error", "").startswith(_STUB_ERRORS))


def agrees(prediction: Prediction, answer: Answer) -> bool:
    """Whether what is predicted is what a server answered: names, order, and arguments where they are predicted."""
    if "error" in answer:
        return prediction.outcome is ParserOutcome.ERROR
    returned = [(call["name"], call["arguments"]) for call in answer["tool_calls"]]
    return [name for name, _ in returned] == [name for name, _ in prediction.calls] and all(
        arguments is None or _is_same(got, ReadCall(got[0], arguments, faulty=False, unknown=False))
        for (_, arguments), got in zip(prediction.calls, returned, strict=True)
    )


def write_sample(all_results: Sequence[Result]) -> None:
    """Writes one result in SAMPLE_EVERY as a line of the sample; those of parsers that were not measured stay."""
    measured = {
        (result_.parser.server, result_.parser.tool, result_.parser.reasoning, result_.parser.format)
        for result_ in all_results
    }
    stored = map(json.loads, ANSWERS.read_text(encoding="utf-8").splitlines())
    rows = [
        row for row in stored if (row["server"], row["parser"], row["reasoning"], row["format"]) not in measured
    ] + [
        {
            "server": result.parser.server,
            "parser": result.parser.tool,
            "reasoning": result.parser.reasoning,
            "format": result.parser.format,
            "text": result.text,
            "whole": result.whole,
            "streamed": None if result.streamed is None or _is_stub_error(result.streamed) else result.streamed,
        }
        for result in all_results[::SAMPLE_EVERY]
        if not _is_stub_error(result.whole)
    ]
    ANSWERS.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def generated(format: str, seed: str, count: int) -> list[str]:
    """The texts of a format, and calls that other formats' cases write in its place."""
    return [*texts_of(format, seed, count), *filter(partial(_is_foreign, format), _case_texts())]


def _is_foreign(format: str, text: str) -> bool:
    """Whether a text has calls in another format's syntax alone."""
    kind = kind_of(format, text)
    return kind is not None and kind.codes == FOREIGN_FORMAT.code and "none" in kind.facts


@cache
def _case_texts() -> tuple[str, ...]:
    files = sorted(CASES.rglob("*.yaml"))
    texts = (case["text"] for path in files for case in load(path)["cases"] if isinstance(case.get("text"), str))
    return tuple(sorted({text for text in texts if len(text) < _LONGEST_CASE}))


def main() -> None:
    """The command."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--write", action="store_true")
    options.add_argument("--add", action="store_true", help="measure plain texts, and add their rows")
    options.add_argument("--reasoned", action="store_true", help="with --add: plain texts with reasoning")
    options.add_argument("--streams", action="store_true", help="split the rows whose streams a fact decides")
    options.add_argument("--check", action="store_true", help="drop the rows that new texts contradict")
    options.add_argument("--seed", default="table")
    options.add_argument("--texts", type=int, default=2000)
    options.add_argument("--only", metavar="WORD", nargs="*", help="parsers or formats of these names only")
    given = options.parse_args()
    chosen = [parser for parser in measured_parsers() if not given.only or {parser.tool, parser.format} & {*given.only}]
    counts: Counter[str] = Counter()
    for format in dict.fromkeys(parser.format for parser in chosen):
        parsers = [parser for parser in chosen if parser.format == format]
        measured = partial(_add, reasoned=given.reasoned) if given.add else _write if given.write else _compare
        measured = _split_streams if given.streams else _check if given.check else measured
        counts += measured(format, parsers, given.seed, given.texts)
    sys.stdout.write(f"{dict(counts)}\n")
    sys.exit(bool(counts["wrong"]))


def _write(format: str, parsers: Sequence[MeasuredParser], seed: str, count: int) -> Counter[str]:
    """Replaces the rows of these parsers, which read one format."""
    measured = results(parsers, {format: generated(format, seed, count)})
    matrix = map(json.loads, MATRIX.read_text(encoding="utf-8").splitlines())
    texts = [
        *generated(format, f"check {seed}", count // 4),
        *(row["text"] for row in matrix if row["format"] == format),
    ]
    checked = results(parsers, {format: texts})
    write_table(observed(measured), observed(checked))
    write_sample(checked)
    sys.stdout.write(f"{format}: {len(measured) + len(checked)} results\n")
    sys.stdout.flush()
    return Counter(results=len(measured) + len(checked))


def _add(format: str, parsers: Sequence[MeasuredParser], seed: str, count: int, *, reasoned: bool) -> Counter[str]:
    """Adds rows about texts as the template writes them, whole or with damaged markers."""
    plain = partial(plain_texts_of, format, reasoned=reasoned)
    measured = results(parsers, {format: list(plain(seed, count))})
    stored = [json.loads(line) for path in (MATRIX, ANSWERS) for line in path.read_text(encoding="utf-8").splitlines()]
    checks = [*plain(f"check {seed}", count // 4), *texts_of(format, f"check {seed}", count // 8)]
    checked = results(parsers, {format: [*checks, *(row["text"] for row in stored if row["format"] == format)]})
    write_table(observed(measured), observed(checked), adds=True)
    sys.stdout.write(f"{format}: {len(measured) + len(checked)} results\n")
    sys.stdout.flush()
    return Counter(results=len(measured) + len(checked))


def _unmeasured(format: str, seed: str, count: int) -> list[str]:
    """Texts of every generator that no row was made of, unless by the same seed."""
    plain = (plain_texts_of(format, seed, count, reasoned=reasoned) for reasoned in (False, True))
    return list(dict.fromkeys([*generated(format, seed, count), *(text for texts in plain for text in texts)]))


def _check(format: str, parsers: Sequence[MeasuredParser], seed: str, count: int) -> Counter[str]:
    """Drops the rows, or the outcomes of rows, that other texts contradict."""
    observations = list(observed(results(parsers, {format: _unmeasured(format, seed, count)})))
    with _changed_rows() as rows:
        for parser in parsers:
            rows[parser] = _confirmed(
                rows[parser], [observation for observation in observations if observation.parser == parser]
            )
    sys.stdout.write(f"{format}: {len(observations)} results\n")
    sys.stdout.flush()
    return Counter(results=len(observations))


def _split_streams(format: str, parsers: Sequence[MeasuredParser], seed: str, count: int) -> Counter[str]:
    """Splits the rows whose streams vary, and that other texts confirm."""
    observations = list(observed(results(parsers, {format: _unmeasured(format, seed, count)})))
    with _changed_rows() as rows:
        for parser in parsers:
            group = [observation for observation in observations if observation.parser == parser]
            kept = _confirmed(rows[parser], group)
            rows[parser] = [
                new
                for row in kept
                for new in _by_stream(row, [observation for observation in group if _row(row).covers(observation.kind)])
            ]
    sys.stdout.write(f"{format}: {len(observations)} results\n")
    sys.stdout.flush()
    return Counter(results=len(observations))


def _compare(format: str, parsers: Sequence[MeasuredParser], seed: str, count: int) -> Counter[str]:
    """Compares the stored predictions with these parsers, which read one format, on other texts."""
    counts, wrong = wrong_predictions(results(parsers, {format: _unmeasured(format, seed, count)}))
    sys.stdout.write("".join([*(f"{sentence}\n" for sentence in wrong), f"{format}: {dict(counts)}\n"]))
    sys.stdout.flush()
    return counts


if __name__ == "__main__":
    main()
