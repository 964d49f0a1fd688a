"""A trace and its inspection as rows, on their way into the database."""

from dataclasses import dataclass

from inspector.inspection import Inspection
from inspector.model import Trace
from storage.derived_rows import DerivedRows, derived_rows
from storage.record_rows import RecordRows, record_rows


@dataclass(frozen=True, slots=True)
class Draft:
    """A trace and its inspection as rows, ready to be written."""

    record: RecordRows
    derived: DerivedRows

    def sort_at_s(self, imported_at_s: float) -> float:
        """Where the trace stands in lists: when it started, or was imported where no start is known."""
        started: float | None = self.record.trace["started_at_s"]
        return imported_at_s if started is None else started


def draft(trace: Trace, inspection: Inspection) -> Draft:
    """A trace and its inspection as rows."""
    return Draft(record_rows(trace), derived_rows(inspection, trace))
