"""The rows of training data behind the traces of a file, so that both are judged by the same rules."""

from collections.abc import Iterator

from inspector.dataset.data_row import DataRow
from inspector.dataset.samples import Sample, is_training_record, read_sample
from inspector.importers.records import Row, read_rows
from inspector.importers.source import Skipped, SourceFile
from inspector.model import Trace
from inspector.segmentation import AUTO

_TABLE_ROW = "row"
_MESSAGE_KEYS = frozenset({"role", "from"})


class SampleRows:
    """Reads the rows of a file beside its traces, forwards and only as far as it must; nothing of other files."""

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._rows: Iterator[Row | Skipped] | None = None

    def of(self, trace: Trace, source: str, format: str = AUTO) -> Sample | None:
        """The row that a trace, which comes after the last one, was read from, its texts read in `format`.

        None where the trace is no row of training data. `source` is what the file was read as. The sample has secrets
        where the file has.
        """
        row = self._row(trace.provenance.record) if is_training_record(trace, source) else None
        sample = read_sample(row, format=format) if row is not None else None
        return sample if sample is not None and sample.shape is not None else None

    def _row(self, record: str) -> DataRow | None:
        """The row at this place; None where there is none, or it is a single message of a conversation."""
        if self._rows is None:
            self._rows = read_rows(self._file)
        for row in self._rows:
            if row.record == record:
                if isinstance(row, Skipped) or row.value.keys() & _MESSAGE_KEYS:
                    return None
                raw = b"" if row.unit == _TABLE_ROW else row.raw  # a table was written as lines to be read
                return DataRow(self._file.name, record, row.number, row.value, raw)
        return None
