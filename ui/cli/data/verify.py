"""`weaklink data verify`: judge candidates by binary verifiers, and sample from groups of them by rejection."""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import TextIO, cast

import click
from msgspec import Struct, structs

from weaklink.inspector.dataset import verified_rows
from weaklink.inspector.dataset.data_files import DataRow, RejectedRow, find_data_files
from weaklink.inspector.dataset.rows import RowWriter, open_row_file
from weaklink.inspector.dataset.verifiers import SCHEMA_ADHERENCE, find_verifier
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.importers.records import parse_json_bytes
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json
from weaklink.inspector.redaction.finding import find_secrets, replaced
from weaklink.inspector.rules.catalogue import select_rules, words_of
from weaklink.inspector.rules.verification import EMPTY_ANSWER
from weaklink.inspector.segmentation import AUTO
from weaklink.inspector.text import LineIndex
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_notice
from weaklink.ui.cli.data.options import NO_ANSWERS, NO_CALLS, RejectedRows, end, map_rows, paths_argument, seed_option
from weaklink.ui.cli.engine_options import jobs_options
from weaklink.ui.importing.engine import EngineOptions
from weaklink.ui.views.segment_json import diagnostic_object
from weaklink.ui.views.styled_text import counted, visible_line

_MAX_GROUPS = 10
_NO_SCHEMA = (
    "no row has a schema (`schema`, `response_format`, or `<schema>` in the system prompt), so schema-adherence only "
    "asked whether the answer is JSON; `--verifier tool-use` judges calls"
)


class VerifiedCandidate(Struct, frozen=True):
    """A candidate as a worker process returns it: its row, its verdicts as JSON, its failures as lines."""

    value: JsonObject
    group: str
    score: float
    codes: tuple[str, ...]
    passed: bool
    verdict: JsonObject
    verdicts: tuple[JsonObject, ...]
    lines: tuple[str, ...]
    calls: int
    offers_tools: bool
    has_schema: bool


@declaring.command("verify")
@paths_argument
@click.option(
    "--verifier",
    "verifiers",
    multiple=True,
    metavar="NAME",
    help="schema-adherence, tool-use, answer-format, reasoning-cap, multi-step, or one that a package registers; "
    "can be repeated, then all must pass.  [default: tool-use]",
)
@click.option(
    "--kept", metavar="FILE", help="Write the candidates that pass to FILE, as Parquet if it ends in .parquet."
)
@click.option("--rejected", metavar="FILE", help="Write those that fail to FILE, and rows that cannot be read.")
@click.option("--best-of", type=click.IntRange(min=1), metavar="N", help="Keep at most the N best of each prompt.")
@click.option("--score", metavar="COLUMN", help="Rank by this column.  [default: score, reward or quality_score]")
@click.option(
    "--k", "ks", default="1", show_default=True, metavar="K,...", help="Report pass@K and pass^K for these K."
)
@click.option(
    "--groups", "groups_file", metavar="FILE", help="Write all candidates as Atropos's scored groups to FILE."
)
@click.option(
    "--scores", "score_values", default="1,0", show_default=True, metavar="PASS,FAIL", help="Scores in --groups."
)
@click.option("--report", "report_file", metavar="FILE", help="Write the rates and the groups without signal as JSON.")
@click.option(
    "--require-call/--no-require-call",
    default=None,
    help="Fail an answer without a call also where the row has no reference; or pass it also where the reference has a "
    "call.  [default: as the reference says]",
)
@click.option(
    "--select", multiple=True, metavar="RULES", help="Rules that make a candidate fail, instead of the verifier's own."
)
@click.option("--ignore", multiple=True, metavar="RULES", help="Rules that never make a candidate fail.")
@click.option("--format", default=AUTO, metavar="NAME", help="Read every text in this format; see `weaklink formats`.")
@jobs_options
@seed_option
@declaring.json_option
def verify(
    paths: tuple[str, ...],
    *,
    columns: Mapping[str, str],
    verifiers: tuple[str, ...],
    kept: str | None,
    rejected: str | None,
    best_of: int | None,
    score: str | None,
    ks: str,
    groups_file: str | None,
    score_values: str,
    report_file: str | None,
    require_call: bool | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    format: str,
    jobs: EngineOptions,
    seed: int,
    as_json: bool,
) -> None:
    """Judge candidate answers by binary verifiers, and keep those that pass.

    A row's candidate is its `completion`, `answer` or `response`, else its last assistant message; rows of one
    `prompt_id`, or of equal prompts, form a group. docs/training-data-making.md names the columns with the schema and
    the expected calls. Written rows have the new column `verification`.

    Exits with 1 if a candidate failed or a row could not be read, and with 2 if no row could be read.

    \b
    Examples:
      weaklink data verify samples.jsonl --verifier tool-use
      weaklink data verify rollouts.jsonl --kept good.parquet --rejected bad.jsonl --best-of 2 --k 1,4,8
      weaklink data verify answers.jsonl --verifier schema-adherence --json
    """
    options = verified_rows.VerifyOptions(
        verifiers or ("tool-use",),
        words_of(select),
        words_of(ignore),
        "" if format == AUTO else find_format(format).name,
        score,
        require_call,
    )
    for name in options.verifiers:
        find_verifier(name)
    select_rules((*options.select, *options.ignore))
    k_values = _numbers(ks)
    scores = _two_numbers(score_values)
    inputs = find_data_files(paths)
    with ExitStack() as stack:
        bad = stack.enter_context(open_row_file(rejected, inputs)) if rejected else None
        output = _Outputs(stack.enter_context(open_row_file(kept, inputs)) if kept else None, bad)
        unread = RejectedRows(bad)
        spool = stack.enter_context(tempfile.TemporaryFile("w+", encoding="ascii", newline="\n"))
        sampling = _Sampling(spool if best_of or groups_file else None, best_of, seed)
        rows = map_rows(
            paths, partial(_verified, options=options), unread, jobs=jobs, label="Verifying", columns=columns
        )
        for candidate in chain.from_iterable(row for row in rows if not isinstance(row, RejectedRow)):
            if isinstance(candidate, RejectedRow):
                unread.add(candidate)
                continue
            sampling.add(candidate)
            _print(candidate, as_json=as_json)
            if best_of is None:  # else all candidates of a group must be known before any is kept
                output.write(candidate.value, candidate.verdict, kept=candidate.passed)
        if best_of is not None:
            sampling.write_best(output)
        if groups_file is not None:
            sampling.write_groups(stack.enter_context(open_row_file(groups_file, inputs)), scores)
    report = sampling.report(k_values)
    if report_file is not None:
        with open_row_file(report_file, inputs) as writer:
            writer.write(report)
    for line in sampling.summary(k_values) if sampling.count else ():
        print_notice(line)
    if SCHEMA_ADHERENCE.name in options.verifiers and sampling.count and not sampling.with_schema:
        print_notice(_NO_SCHEMA)
    end(paths, sampling.count, unread.count, failed=sampling.passed < sampling.count)


def _verified(row: DataRow, *, options: verified_rows.VerifyOptions) -> list[VerifiedCandidate | RejectedRow]:
    return [
        verified if isinstance(verified, RejectedRow) else _as_candidate(verified, options)
        for verified in verified_rows.verify_row(row, options)
    ]


def _as_candidate(row: verified_rows.VerifiedRow, options: verified_rows.VerifyOptions) -> VerifiedCandidate:
    verdict: JsonObject = {"verifiers": list(options.verifiers), "passed": row.passed, "codes": list(row.codes)}
    verdicts: list[JsonObject] = []
    lines: list[str] = []
    for verifier, judged in row.verdicts:
        diagnostics: list[JsonObject] = []
        for diagnostic in judged:
            turn = row.trace.turns[diagnostic.location.turn - 1] if row.trace.turns else None
            part = turn.part(diagnostic.location.part) if turn is not None else None
            text = part.text if part is not None else ""
            shown = _clean(text, cast("JsonObject", diagnostic_object(diagnostic, LineIndex(text))))
            diagnostics.append({"turn": diagnostic.location.turn, "part": diagnostic.location.part, **shown})
            where = f"turn {diagnostic.location.turn}:{shown['line']}:{shown['column']}"
            lines.append(f"{row.row.reference}: {verifier}: {where}: {diagnostic.rule}: {shown['message']}")
        verdicts.append(
            {
                "id": row.id,
                "record": row.row.record,
                "verifier": verifier,
                "passed": not judged,
                "diagnostics": list(diagnostics),
                "file": row.row.file,
                "group": row.group,
            }
        )
    return VerifiedCandidate(
        row.row.value,
        row.group,
        row.score,
        row.codes,
        row.passed,
        verdict,
        tuple(verdicts),
        tuple(lines),
        row.calls,
        row.offers_tools,
        row.has_schema,
    )


def _clean(text: str, diagnostic: JsonObject) -> JsonObject:
    """The report of a fault in a text, without the secrets that it quotes."""
    return {name: _clean_value(text, value) for name, value in diagnostic.items()}


def _clean_value(text: str, value: Json) -> Json:
    if isinstance(value, str):
        for secret in find_secrets(text):
            quoted = text[secret.start : secret.end]
            value = value.replace(quoted, replaced(quoted, [structs.replace(secret, start=0, end=len(quoted))]))
        return replaced(value, find_secrets(value))
    if isinstance(value, list):
        return [_clean_value(text, item) for item in value]
    return _clean(text, value) if isinstance(value, dict) else value


def _print(candidate: VerifiedCandidate, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.writelines(write_json(verdict) + "\n" for verdict in candidate.verdicts)
    else:
        sys.stdout.writelines(visible_line(line) + "\n" for line in candidate.lines)


class _Outputs:
    """The files of kept and of rejected rows."""

    def __init__(self, kept: RowWriter | None, rejected: RowWriter | None) -> None:
        self._kept, self._rejected = kept, rejected

    def write(self, value: JsonObject, verdict: JsonObject, *, kept: bool) -> None:
        """Write a row with the column `verification` to the file that it belongs to."""
        writer = self._kept if kept else self._rejected
        if writer is not None:
            writer.write({**value, "verification": verdict})


class _Sampling:
    """The groups of candidates: a few numbers for each candidate, and its row in a spool if it is needed again."""

    def __init__(self, spool: TextIO | None, best_of: int | None, seed: int) -> None:
        self._spool, self._best_of, self._seed = spool, best_of, seed
        self._groups: dict[str, verified_rows.CandidateGroup] = {}
        self._codes: Counter[str] = Counter()
        self.count = self.passed = self.calls = self.offering = self.without_tools = self.with_schema = 0

    def add(self, candidate: VerifiedCandidate) -> None:
        """Add a candidate."""
        self.count += 1
        self.passed += candidate.passed
        self.calls += candidate.calls
        self.offering += candidate.offers_tools
        self.with_schema += candidate.has_schema
        self.without_tools += bool(candidate.calls) and not candidate.offers_tools
        self._codes.update(candidate.codes)
        offset = self._spool.tell() if self._spool is not None else 0
        group = self._groups.setdefault(candidate.group, verified_rows.CandidateGroup(candidate.group))
        group.candidates.append(verified_rows.ScoredCandidate(offset, candidate.passed, candidate.score))
        if self._spool is not None:
            self._spool.write(write_json([candidate.verdict, candidate.value]) + "\n")

    def write_best(self, output: _Outputs) -> None:
        """Write every row to its file; the best of each group are kept."""
        assert self._best_of is not None
        best = {candidate.row for group in self._groups.values() for candidate in group.best(self._best_of, self._seed)}
        for offset in sorted(candidate.row for group in self._groups.values() for candidate in group.candidates):
            verdict, value = self._read(offset)
            output.write(value, verdict, kept=offset in best)

    def write_groups(self, writer: RowWriter, scores: tuple[float, float]) -> None:
        """Write one scored group per prompt, in order of first candidates; `scores` are for passing and failing."""
        passed, failed = scores
        for group in self._groups.values():
            rows = [self._read(candidate.row)[1] for candidate in group.candidates]
            writer.write(
                verified_rows.scored_group(
                    rows, [passed if candidate.passed else failed for candidate in group.candidates]
                )
            )

    def _read(self, offset: int) -> tuple[JsonObject, JsonObject]:
        assert self._spool is not None
        self._spool.seek(offset)
        verdict, value = parse_json_bytes(self._spool.readline().encode("ascii"))  # type: ignore[misc,str-unpack]  # as `add` wrote it
        return verdict, value  # type: ignore[return-value]  # the same

    def _several(self) -> list[verified_rows.CandidateGroup]:
        return [group for group in self._groups.values() if len(group.candidates) > 1]

    def report(self, ks: Sequence[int]) -> JsonObject:
        """The rates and groups as JSON."""
        groups = list(self._groups.values())
        silent = [group for group in self._several() if not group.has_signal]
        return {
            "candidates": self.count,
            "passed": self.passed,
            "groups": len(groups),
            "codes": dict(sorted(self._codes.items())),
            "pass_at_k": [_rate_object(rate) for k in ks if (rate := verified_rows.pass_at(groups, k)) is not None],
            "pass_all_k": [_rate_object(rate) for k in ks if (rate := verified_rows.pass_all(groups, k)) is not None],
            "without_signal": [
                {"group": group.key, "candidates": len(group.candidates), "passed": group.passed} for group in silent
            ],
        }

    def summary(self, ks: Sequence[int]) -> Iterator[str]:
        """The rates and groups as sentences."""
        groups = list(self._groups.values())
        share = f" ({100 * self.passed / self.count:.1f} %)" if self.count else ""
        yield f"{self.passed} of {counted(self.count, 'candidate')} passed{share}, in {counted(len(groups), 'group')}"
        for k in ks:
            for name, rate in (
                (f"pass@{k}", verified_rows.pass_at(groups, k)),
                (f"pass^{k}", verified_rows.pass_all(groups, k)),
            ):
                yield f"{name} {_rate_words(rate)}"
        if self.count and not self.calls and self._codes[EMPTY_ANSWER.code] == self.count:
            yield NO_ANSWERS
        elif self.offering and not self.calls:
            yield NO_CALLS
        if self.without_tools:
            count = f"{self.without_tools} of {counted(self.count, 'candidate')}"
            yield f"calls without any tool on offer in {count}: their arguments were not checked"
        silent = [group for group in self._several() if not group.has_signal]
        if silent:
            named = ", ".join(
                f"{group.key} ({'all' if group.passed else 'none'} passed)" for group in silent[:_MAX_GROUPS]
            )
            more = f" and {len(silent) - _MAX_GROUPS} more" if len(silent) > _MAX_GROUPS else ""
            yield f"{counted(len(silent), 'group')} without signal: {named}{more}"


def _rate_object(rate: verified_rows.PassRate) -> JsonObject:
    bounds = rate.interval
    interval: Json = None if bounds is None else [bounds.low, bounds.high]
    return {"k": rate.k, "value": rate.value, "interval": interval, "groups": rate.groups}


def _rate_words(rate: verified_rows.PassRate | None) -> str:
    if rate is None:
        return "unknown: no group has that many candidates"
    if rate.interval is None:
        return f"{rate.value:.3f} over 1 group"
    bounds = f"95 % interval {rate.interval.low:.3f} to {rate.interval.high:.3f}"
    return f"{rate.value:.3f} ({bounds}) over {rate.groups} groups"


def _numbers(text: str) -> list[int]:
    words = text.replace(",", " ").split()
    if not words or not all(word.isdecimal() and int(word) > 0 for word in words):
        raise click.BadParameter("expected numbers from 1, such as 1,4,8", param_hint="--k")
    return [int(word) for word in words]


def _two_numbers(text: str) -> tuple[float, float]:
    try:
        passed, failed = (float(word) for word in text.split(","))
    except ValueError as error:
        raise click.BadParameter("expected two numbers, such as 1,-1", param_hint="--scores") from error
    return passed, failed
