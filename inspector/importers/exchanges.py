"""A proxy's records as traces: requests to models are gathered, all other traffic is counted and told in one record."""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from inspector.importers.source import Skipped
from inspector.model import Trace
from inspector.sessions.exchange import Exchange
from inspector.sessions.gathering import SkippedExchange, traces_of
from inspector.wire.providers import find_api

_NO_MODEL = "requests to no model"
_FEW = 5


@dataclass(frozen=True, slots=True)
class OtherTraffic:
    """A record that is no HTTP exchange; `kind` says what in the plural (`TCP connections`)."""

    kind: str


@dataclass(slots=True)
class ProxyFile:
    """What is known of a proxy's file beside its exchanges, and grows while they are read.

    `unit` is what the file calls a record (`flow`, `entry`), `units` several of them. `warnings` say what the file did
    not keep; `lost_requests` says why a request's body may be missing, as a sentence without its period.
    """

    unit: str
    units: str
    lost_requests: str
    source_version: str = ""
    warnings: list[str] = field(default_factory=list)
    unanswered: dict[str, None] = field(default_factory=dict)
    bodiless: list[str] = field(default_factory=list)
    other: Counter[str] = field(default_factory=Counter)
    count: int = 0


def traces_of_proxy(
    records: Iterable[Exchange | OtherTraffic | Skipped], file: ProxyFile, *, lost_answers: str
) -> Iterator[Trace | Skipped]:
    """The traces of a proxy's file, and what could not be read of it; then one record that counts all other traffic.

    Requests to models are held until the end, as sessions are recognised over the whole file; nothing else is. Each
    trace bears the file's warnings; `lost_answers` is that for answers whose body was not kept.
    """
    broken: deque[Skipped] = deque()
    for made in traces_of(_requests(records, file, broken)):
        while broken:
            yield broken.popleft()
        if isinstance(made, SkippedExchange):
            file.other[_NO_MODEL] += 1
            file.unanswered.pop(made.record, None)
        else:
            yield _of_file(made, file, lost_answers)
    yield from broken
    yield from _rest(file)


def _requests(
    records: Iterable[Exchange | OtherTraffic | Skipped], file: ProxyFile, broken: deque[Skipped]
) -> Iterator[Exchange]:
    for record in records:
        if isinstance(record, Skipped):
            broken.append(record)
            continue
        file.count += 1
        if isinstance(record, OtherTraffic):
            file.other[record.kind] += 1
        elif record.body is not None:
            if record.answer is None and record.status is not None:
                file.unanswered[record.record] = None
            yield record
        elif record.head.method.upper() == "POST" and find_api(record.head.target):
            file.bodiless.append(record.record)
        else:
            file.other[_NO_MODEL] += 1


def _of_file(trace: Trace, file: ProxyFile, lost_answers: str) -> Trace:
    lost = [f"{lost_answers} ({_listed(file.unanswered)})"] if file.unanswered else []
    known = trace.provenance
    warnings = (*file.warnings, *lost, *known.warnings)
    return replace(trace, provenance=replace(known, source_version=file.source_version, warnings=warnings))


def _rest(file: ProxyFile) -> Iterator[Skipped]:
    if file.bodiless:
        reason = f"nobody knows what was asked of the model: {file.lost_requests}"
        yield Skipped(_listed(file.bodiless), reason)
    if total := file.other.total():
        kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(file.other.items()))
        yield Skipped(f"{total} of {file.count} {file.units}", f"part of no trace, as they are {kinds}")


def _listed(records: Collection[str]) -> str:
    """The first places, and how many more there are."""
    more = f" and {len(records) - _FEW} more" if len(records) > _FEW else ""
    return ", ".join(islice(records, _FEW)) + more
