"""Baselines: faults that a project accepts for now, so that only new ones fail a check."""

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec import Struct, structs

from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json
from weaklink.inspector.rules.rule import Rule, Severity
from weaklink.ui.cli.files import open_output, read_text
from weaklink.ui.reports.check_report import CheckedDiagnostic, UnreadRecord

_VERSION = 1
_MAX_EXCERPT_CHARS = 80
_BROKEN = "broken"
_WORST_FIRST = (_BROKEN, *(severity.value for severity in Severity))


class KnownFault(Struct, frozen=True, order=True):
    """A baseline entry: a fault and how often it occurred. `text` is an excerpt for people who read the file.

    `severity` is `broken` for the fault that broke a chain, and "" in files of weaklink 0.2.0, which do not have it.
    """

    path: str
    code: str
    fingerprint: str
    count: int
    text: str
    severity: str = ""

    @property
    def key(self) -> "_Key":
        """What diagnostics are looked up by."""
        return self.fingerprint, self.severity


_Key: TypeAlias = tuple[str, str]


@dataclass(slots=True)
class Baseline:
    """The known faults, and all faults that this run has found.

    A fault that the baseline lists twice is known twice; a third occurrence is new. A fault that is worse than it was,
    such as an error that the agent recovered from then and that breaks the chain now, is new too.
    """

    faults: tuple[KnownFault, ...] = ()
    _left: Counter[_Key] = field(init=False)
    _met: dict[_Key, KnownFault] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._left = Counter()
        for fault in self.faults:
            self._left[fault.key] += fault.count

    def knows(self, checked: CheckedDiagnostic | UnreadRecord, *, breaks: bool = False) -> bool:
        """Whether an unused entry matches a diagnostic; uses the entry up. It is recorded as met either way.

        `breaks` says that the diagnostic is the reason why its chain is broken.
        """
        severity = _BROKEN if breaks else checked.fault.rule.severity.value
        self._note(checked, severity)
        for known in (*reversed(_WORST_FIRST[: _WORST_FIRST.index(severity) + 1]), ""):
            if self._left[checked.fingerprint, known] > 0:
                self._left[checked.fingerprint, known] -= 1
                return True
        return False

    def gone(self, paths: Iterable[str], rules: Iterable[Rule]) -> int:
        """The number of baseline faults of these rules that were not met, in these or in deleted files."""
        checked_paths, codes = frozenset(paths), {rule.code for rule in rules}
        return sum(
            self._left[fault.key]
            for fault in {fault.key: fault for fault in self.faults}.values()
            if fault.code in codes and (fault.path in checked_paths or not os.path.lexists(fault.path))
        )

    def met(self) -> tuple[KnownFault, ...]:
        """All diagnostics of this run as the entries of a new baseline, sorted by path."""
        return tuple(sorted(self._met.values()))

    def _note(self, checked: CheckedDiagnostic | UnreadRecord, severity: str) -> None:
        code, text = checked.fault.rule.code, checked.words[:_MAX_EXCERPT_CHARS]
        new = KnownFault(checked.path, code, checked.fingerprint, 0, text, severity)
        entry = self._met.get(new.key, new)
        self._met[new.key] = structs.replace(entry, count=entry.count + 1)


def read_baseline(path: str) -> Baseline:
    """Read a baseline that `--write-baseline` wrote. Raises UnreadableFileError, with the path, for anything else."""
    try:
        value: Json = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise UnreadableFileError(f"{path} is not a baseline: it is not JSON: {error}") from error
    if not isinstance(value, dict) or value.get("weaklink_baseline") != _VERSION:
        raise UnreadableFileError(f"{path} is not a baseline of this version: `weaklink_baseline` is not {_VERSION}")
    faults = value.get("faults")
    if not isinstance(faults, list):
        raise UnreadableFileError(f"{path} is not a baseline: it has no list `faults`")
    return Baseline(tuple(_fault(path, fault) for fault in faults))


def write_baseline(path: str, faults: Iterable[KnownFault]) -> None:
    """Write a baseline with one line per fault, so that changes can be reviewed. Raises UnwritableFileError."""
    entries = [write_json(structs.asdict(fault)) for fault in faults]
    listed = "".join(f"\n{entry}{',' if number < len(entries) else ''}" for number, entry in enumerate(entries, 1))
    with open_output(path) as stream:
        stream.write(f'{{"weaklink_baseline": {_VERSION}, "faults": [{listed}\n]}}\n')


def _fault(path: str, value: Json) -> KnownFault:
    match value:
        case {
            "path": str(file),
            "code": str(code),
            "fingerprint": str(fingerprint),
            "count": int(count),
            **more,
        } if count > 0:
            return KnownFault(file, code, fingerprint, count, "", str(more.get("severity", "")))
    raise UnreadableFileError(f"{path} is not a baseline: an entry lacks `path`, `code`, `fingerprint` or `count`")
