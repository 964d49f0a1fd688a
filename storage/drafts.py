"""A trace and its inspection as rows, on their way into the database."""

from dataclasses import dataclass

from inspector.inspection import Inspection
from inspector.model import Trace
from storage.derived_rows import DerivedRows, derived_rows
from storage.record_rows import RecordRows, record_rows
from storage.tables import UNKNOWN_TIME_S


@dataclass(frozen=True, slots=True)
class Draft:
    """A trace and its inspection as rows, ready to be written."""

    record: RecordRows
    derived: DerivedRows

    @property
    def sort_at_s(self) -> float:
        """The trace's place in lists: when it started; `UNKNOWN_TIME_S`, and so last, where no source says."""
        started: float | None = self.record.trace["started_at_s"]
        return UNKNOWN_TIME_S if started is None else started


def draft(trace: Trace, inspection: Inspection) -> Draft:
    """A trace and its inspection as rows."""
    return Draft(record_rows(trace), derived_rows(inspection, trace))
