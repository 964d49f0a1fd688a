"""Runs a probe: writes each result to a file as it comes, keeps the requests that failed as traces, and can continue.

A results file grows by whole lines, one per answer, so an interrupt leaves at most one incomplete line at its end. A
continued run cuts that off, and sends only the requests that have no answer yet (by their hashes, as
K2-Vendor-Verifier's `--incremental` does).
"""

import os
import secrets
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from msgspec import Struct, structs

from weaklink.inspector.apis.openai import chat
from weaklink.inspector.atomic_write import UnwritableFileError
from weaklink.inspector.capture.redacting import Redacts
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import ErrorPhase, ExternalId, FinishReason, Generation, GenerationError, Instant, Trace
from weaklink.inspector.model.trace import RECORDING_ID
from weaklink.inspector.probe.measures import failed_measures
from weaklink.inspector.probe.results import ProbeRecord, read_results, result_line
from weaklink.inspector.probe.running import ProbedAnswer
from weaklink.inspector.probe.suite import ProbeRequest
from weaklink.inspector.replay.resend import ResendError, assistant_turns, turn_request
from weaklink.storage.store import Store

PROBE_ID, REQUEST_ID = "probe", "request"
"""The names of the external ids that mark the traces of one probe, and the request of each."""
_MAX_TRACES = 10_000


class ProbeFiles(Struct):
    """Where a probe of one endpoint writes; `records` are those of an earlier run, and then all of this one."""

    path: Path | None
    records: list[ProbeRecord]

    @property
    def answered(self) -> frozenset[str]:
        """The hashes of the requests that have an answer."""
        return frozenset(record.hash for record in self.records if record.answered)


def open_results(path: Path | None, *, resume: bool) -> ProbeFiles:
    """The file for results, and what it has already. WeaklinkError if it exists and the run does not continue it."""
    if path is None or not path.exists() or not path.stat().st_size:
        return ProbeFiles(path, [])
    if not resume:
        raise WeaklinkError(f"{path} exists; continue it with `--resume`, or name another file")
    records = read_results(path)
    text = path.read_bytes()
    if not text.endswith(b"\n"):
        with path.open("rb+") as file:
            file.truncate(text.rfind(b"\n") + 1)
    return ProbeFiles(path, records)


class ProbeWriter:
    """Takes the answers of a run: a line of the results each, and a trace for each that failed."""

    def __init__(
        self, files: ProbeFiles, store: Store | None, redactor: Redacts, url: str, changed: Callable[[int], None]
    ) -> None:
        """`changed` is called with the number of new answers."""
        self.files, self._store, self._redactor, self._url, self._changed = files, store, redactor, url, changed
        self.id = secrets.token_hex(6)
        self._out: TextIO | None = None
        if files.path is not None:
            try:
                self._out = open(  # noqa: SIM115  # closed by `close`
                    files.path, "a", encoding="utf-8", newline="\n", opener=_private
                )
            except OSError as error:
                raise UnwritableFileError(f"cannot write {files.path}: {error.strerror or error}") from error

    def finished(self, answers: Sequence[ProbedAnswer]) -> None:
        """Write the answers to one request; they are on disk afterwards."""
        kept = [self._kept(answer) for answer in answers]
        new = {record.hash for record in kept}
        self.files.records[:] = [*(record for record in self.files.records if record.hash not in new), *kept]
        if self._out is not None:
            now = datetime.now(UTC)
            pairs = zip(kept, answers, strict=True)
            lines = [f"{result_line(record, answer.judged.answer, now)}\n" for record, answer in pairs]
            self._out.write("".join(lines))
            self._out.flush()
        self._changed(len(answers))

    def close(self) -> None:
        """Close the results."""
        if self._out is not None:
            self._out.close()

    def _kept(self, answer: ProbedAnswer) -> ProbeRecord:
        """The record, with the id of its trace, which is saved if the answer has findings."""
        record = answer.record
        if self._store is None or not record.findings:
            return record
        session = f"{self.id}-{record.id}-{record.mode.value}"
        trace = self._redactor.trace(self._trace(answer, session))
        self._store.save([(trace, inspect_trace(trace))])
        return structs.replace(record, session=session)

    def _trace(self, probed: ProbedAnswer, session: str) -> Trace:
        answer, trace = probed.judged.answer, probed.judged.trace
        ids = (
            ExternalId(RECORDING_ID, session),
            ExternalId(PROBE_ID, self.id),
            ExternalId(REQUEST_ID, f"{probed.record.id} ({probed.record.mode.value})"),
            ExternalId("endpoint", self._url),
        )
        words = ", ".join(dict.fromkeys(finding.kind for finding in probed.record.findings))
        failed = "".join(f" {measure_mark(name)}" for name in failed_measures(probed.record))
        name = f"{probed.record.id} ({probed.record.mode.value}): {words}{failed}"
        *asked, answered = trace.turns
        generation = answered.generation or Generation()
        generation = structs.replace(generation, started=Instant(answer.began_s), ended=Instant(answer.ended_s))
        if answer.failure:
            phase = ErrorPhase.HTTP if answer.status is not None else ErrorPhase.CONNECT
            error = GenerationError(phase, answer.failure, answer.status)
            generation = structs.replace(generation, error=error, finish=FinishReason.ERROR)
        turns = (*asked, structs.replace(answered, generation=generation))
        return structs.replace(trace, turns=turns, name=name, started=Instant(answer.began_s), external_ids=ids)


def measure_mark(name: str) -> str:
    """The word in a trace's name that says which measure its answer fails, so that a filter finds it."""
    return f"#{name}"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def requests_of_traces(store: Store, wanted: str, first: int = 1) -> tuple[list[ProbeRequest], list[str]]:
    """Every recorded request of the traces that match a filter, and why others cannot be sent again.

    What a right answer has is not known of these requests. `first` is the number of the first.
    """
    requests: list[ProbeRequest] = []
    skipped: list[str] = []
    for summary in store.traces(wanted, limit=_MAX_TRACES):
        trace = store.trace(summary.id)
        exchanges = store.exchanges.of(summary.id).traces.get(summary.id, ())
        for turn in assistant_turns(trace):
            try:
                request = turn_request(trace, exchanges, turn, api=None)
                if request.api != chat.API:
                    request = turn_request(trace, (), turn, api=chat.API)
            except ResendError as error:
                skipped.append(f"trace {summary.id}, turn {turn}: {error}")
                continue
            id_ = f"trace-{summary.id}-turn-{turn}"
            requests.append(ProbeRequest(first + len(requests), id_, "traces", request.body))
    return requests, skipped


def results_for_second(path: Path) -> Path:
    """The file for the second of two endpoints: `results.jsonl` becomes `results-2.jsonl`."""
    return path.with_name(f"{path.stem}-2{path.suffix}")


def sessions(records: Iterable[ProbeRecord]) -> list[str]:
    """The ids of the traces of records with findings."""
    return [record.session for record in records if record.session]
