"""Writes results of many inspections as Parquet data sets in one folder, block by block.

`DIR/traces`, `turns`, `calls`, `steps` and `diagnostics` have one file for each block of the plan, with the schemas
below; docs/scaling.md describes the columns. A worker writes each file under a temporary name and renames it when it is
complete; in an object store the file appears when its upload ends. Finally it writes the block's entry in
`DIR/_manifest`: a block with an entry is finished; one without is processed again, with the same file names. So every
trace is there exactly once.
"""

import hashlib
import json
import os
import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from weaklink.inspector.chain.steps import Step
from weaklink.inspector.errors import UnknownFormatError, UnreadableFileError, WeaklinkError
from weaklink.inspector.importers.blocks import Block
from weaklink.inspector.importers.reading import read_group
from weaklink.inspector.importers.remote import file_system_of
from weaklink.inspector.importers.source import Skipped, is_url, local_path
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, Trace
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.version import __version__
from weaklink.storage.derived_rows import figures_in
from weaklink.storage.statistics import keys_of
from weaklink.ui.importing.block_records import placed_block
from weaklink.ui.importing.input_files import InputFile, read_input

_BATCH_ROWS = 500
_MAX_SKIPPED = 20
_MANIFEST = "_manifest"
_PLAN = "_plan.json"


def _columns(listed: str) -> dict[str, str]:
    """Columns in order, by name and Arrow type: names in front of their type, `file record: string, turn: int32`."""
    groups = (group.rpartition(":") for group in listed.split(","))
    return {name: kind.strip() for names, _, kind in groups for name in names.split()}


TABLES: dict[str, dict[str, str]] = {
    "traces": _columns(
        "file record block source name model format: string, started_s: float64, day prompt reasoning: string, "
        "turns calls: int32, status verdict_certainty: string, success: bool, break_step break_turn: int32, "
        "break_tool break_outcome break_code break_message break_reaction abort_reason: string, "
        "errors warnings infos: int32, figures: string"
    ),
    "turns": _columns(
        "file record: string, turn: int32, role: string, parts: int32, characters: int64, model finish_reason: string"
    ),
    "calls": _columns(
        "file record: string, number turn: int32, part: string, start end: int64, tool arguments: string, "
        "valid recovered: bool"
    ),
    "steps": _columns(
        "file record: string, step turn: int32, part: string, start end: int64, "
        "tool outcome certainty recovery: string, recovered_by: int32, result_kind said: string"
    ),
    "diagnostics": _columns(
        "file record: string, number turn: int32, part: string, start end: int64, code severity message: string"
    ),
}
"""The columns of every table, by name and Arrow type. `file` and `record` name the trace in all of them."""


class OtherResultsError(WeaklinkError):
    """A folder contains the results of other input, or no results of weaklink; the message has its path."""


class BlockResult(Struct, frozen=True):
    """The result of one block: rows by table, traces by status, skipped records, and the first notices about them."""

    rows: dict[str, int]
    statuses: dict[str, int]
    skipped: int = 0
    notices: tuple[str, ...] = ()
    refused: str | None = None


# ---------------------------------------------------------------- the folder


class ResultsFolder:
    """A folder of results, on the disk or in an object store."""

    def __init__(self, where: str) -> None:
        self.where = local_path(where).rstrip("/")
        self.is_remote = is_url(self.where)

    def begin(self, blocks: Sequence[Block], options: str) -> None:
        """Record the plan. Raises OtherResultsError if the folder has results of another plan."""
        plan = hashlib.sha256(repr((list(blocks), options)).encode("utf-8", "surrogatepass")).hexdigest()
        stored = self.read(_PLAN)
        if stored is None:
            self.write(_PLAN, json.dumps({"plan": plan, "blocks": len(blocks), "weaklink": __version__}).encode())
        elif not isinstance(value := json.loads(stored), dict) or value.get("plan") != plan:
            reason = "contains results of other files or options, or the files have changed; use another folder"
            raise OtherResultsError(f"{self.where} {reason}")

    def finished(self) -> dict[int, BlockResult]:
        """The blocks that have an entry in the manifest."""
        results: dict[int, BlockResult] = {}
        for number in sorted(self.entries()):
            if (raw := self.read(_entry(number))) is not None:
                value = json.loads(raw)
                value["notices"] = tuple(value["notices"])
                results[number] = BlockResult(**value)
        return results

    def entries(self) -> set[int]:
        """The numbers of the blocks that have an entry in the manifest."""
        names = (name for name in self.names(_MANIFEST) if not name.startswith("."))
        return {int(name.removesuffix(".json")) for name in names if name.endswith(".json")}

    def finish(self, block: Block, result: BlockResult) -> None:
        """Record that all files of a block are written."""
        self.write(_entry(block.number), json.dumps(structs.asdict(result)).encode())

    def remove_unfinished(self) -> None:
        """Delete temporary files of killed workers; call it when all blocks are finished."""
        for folder in () if self.is_remote else (_MANIFEST, *TABLES):
            for name in self.names(folder):
                if name.startswith("."):
                    Path(self.where, folder, name).unlink(missing_ok=True)

    def names(self, folder: str) -> list[str]:
        """The names of the files in a subfolder."""
        if not self.is_remote:
            path = f"{self.where}/{folder}"
            return sorted(os.listdir(path)) if os.path.isdir(path) else []  # noqa: PTH208, PTH112  # as the URLs
        from pyarrow import fs  # noqa: PLC0415  # 60 ms, and optional

        filesystem, path = file_system_of(f"{self.where}/{folder}")
        listed = filesystem.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return sorted(posixpath.basename(entry.path) for entry in listed)

    def dataset(self, table: str) -> Any:
        """A table as an Arrow data set, of finished blocks only. Raises OtherResultsError if there are no results."""
        from pyarrow import dataset  # noqa: PLC0415  # 100 ms, and optional

        files = [self._place(f"{table}/{_table_file(number)}") for number in sorted(self.entries())]
        if not files:
            raise OtherResultsError(
                f"{self.where} has no results; `weaklink import PATH --to {self.where}` writes some"
            )
        paths = [path for _, path in files]
        return dataset.dataset(paths, schema=arrow_schema(table), format="parquet", filesystem=files[0][0])

    def read(self, name: str) -> bytes | None:
        """The bytes of a file, or None if it does not exist."""
        filesystem, path = self._place(name)
        try:
            with filesystem.open_input_stream(path) as stream:
                content: bytes = stream.read()
        except FileNotFoundError:
            return None
        return content

    def write(self, name: str, raw: bytes) -> None:
        """Write a file; it appears when it is complete."""
        with self.new_file(name) as stream:
            stream.write(raw)

    def new_file(self, name: str) -> "NewFile":
        """A byte stream to a file that appears when it is complete."""
        return NewFile(*self._place(name), is_remote=self.is_remote)

    def _place(self, name: str) -> tuple[Any, str]:
        if self.is_remote:
            return file_system_of(f"{self.where}/{name}")
        from pyarrow import fs  # noqa: PLC0415  # 60 ms, and optional

        return fs.LocalFileSystem(), os.path.abspath(f"{self.where}/{name}")  # noqa: PTH100  # links stay links


def _entry(number: int) -> str:
    """The entry of a block in the manifest."""
    return f"{_MANIFEST}/{number:08}.json"


def _table_file(number: int) -> str:
    """The name of a block's file in the folder of each table."""
    return f"block-{number:08}.parquet"


class NewFile:
    """A file under a temporary name, renamed when the block ends; an upload to an object store appears at that moment.

    After an error there is no file. An upload to an object store can only be finished, not aborted, so the object is
    then deleted.
    """

    def __init__(self, filesystem: Any, path: str, *, is_remote: bool) -> None:
        self._filesystem, self._path = filesystem, path
        self._written = path if is_remote else f"{posixpath.dirname(path)}/.{posixpath.basename(path)}.{os.getpid()}"
        if not is_remote:
            filesystem.create_dir(posixpath.dirname(path), recursive=True)
        self._stream = filesystem.open_output_stream(self._written)

    def __enter__(self) -> Any:
        return self._stream

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stream.close()
        if kind is not None:
            self._filesystem.delete_file(self._written)
            return
        if self._written != self._path:
            self._filesystem.move(self._written, self._path)


# ---------------------------------------------------------------- one block


class BlockImporter(Struct, frozen=True):
    """Inspects the traces of a block and writes their rows; it can be sent to another process."""

    where: str
    source: str | None = None

    def __call__(self, block: Block) -> Iterator[BlockResult]:
        """Yield one result when all files of the block and its entry in the manifest are written."""
        folder = ResultsFolder(self.where)
        with _TableWriters(folder, _table_file(block.number)) as writers:
            result = self._written(block, writers)
        folder.finish(block, result)
        yield result

    def _written(self, block: Block, writers: "_TableWriters") -> BlockResult:
        redactor = Redactor()
        statuses: Counter[str] = Counter()
        notices: list[str] = []
        skipped, refused = 0, None
        block_text = _block_text(block)
        with placed_block(block) as file:
            try:
                for record in records_of_block(file, self.source):
                    notice = f"{record.record}: {record.reason}" if isinstance(record, Skipped) else None
                    if notice is None:
                        assert isinstance(record, Trace)
                        trace = redactor.trace(record)
                        try:
                            inspection = inspect_trace(trace)
                        except UnknownFormatError as error:
                            notice = f"{record.provenance.record}: {error}"
                        else:
                            statuses[inspection.chain.status.value] += 1
                            writers.add(block.path, block_text, trace, inspection)
                            continue
                    skipped += 1
                    if len(notices) < _MAX_SKIPPED:
                        notices.append(redactor.text(notice))
            except UnreadableFileError as error:
                refused = redactor.text(str(error))
        return BlockResult(dict(writers.counts), dict(statuses), skipped, tuple(notices), refused)


def _block_text(block: Block) -> str:
    """A block's position in its file, as text for `place_of_block`."""
    with_it: list[Json] = [list(block.with_it)] if block.with_it else []
    return write_json([block.kind, block.start, block.end, block.first, *with_it])


def place_of_block(file: str, packed: list[Any]) -> Block:
    """The block that a row of `traces` names in its columns `file` and `block`. Raises ValueError if it names none."""
    kind, start, end, first, *with_it = packed
    if kind not in ("file", "lines", "rows") or not all(isinstance(value, int) for value in (start, end, first)):
        raise ValueError("not a block")
    return Block(0, file, kind, start, end, first, with_it=tuple(map(str, with_it[0] if with_it else ())))


def records_of_block(file: InputFile, source: str | None) -> Iterator[Trace | Skipped]:
    """The traces and skipped records of a block's file. Raises UnreadableFileError if it cannot be read."""
    reading = read_input(file, source)
    return read_group((file.path, *file.with_it), reading.source) if file.with_it else reading.records


class _TableWriters:
    """The open files of one block, one per table; a context manager that renames them into place at its end."""

    def __init__(self, folder: ResultsFolder, name: str) -> None:
        import pyarrow as pa  # noqa: PLC0415  # 50 ms, and optional
        from pyarrow import parquet  # noqa: PLC0415  # the same

        self._arrow = pa
        self._files = {table: folder.new_file(f"{table}/{name}") for table in TABLES}
        schemas = {table: arrow_schema(table) for table in TABLES}
        self._schemas = schemas
        self._writers = {
            table: parquet.ParquetWriter(file.__enter__(), schemas[table], compression="zstd")
            for table, file in self._files.items()
        }
        self._rows: dict[str, list[dict[str, Any]]] = {table: [] for table in TABLES}
        self.counts: Counter[str] = Counter(dict.fromkeys(TABLES, 0))

    def __enter__(self) -> "_TableWriters":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        for table in TABLES:
            if kind is None:
                self._flush(table)
                self._writers[table].close()
            self._files[table].__exit__(kind, error, traceback)

    def add(self, file: str, block: str, trace: Trace, inspection: Inspection) -> None:
        """Add the rows of one trace to all tables."""
        key = {"file": _clean(file), "record": _clean(trace.provenance.record)}
        for table, rows in _rows_of(trace, inspection, block).items():
            before = len(self._rows[table])
            self._rows[table] += (key | row for row in rows)
            self.counts[table] += len(self._rows[table]) - before
            if len(self._rows[table]) >= _BATCH_ROWS:
                self._flush(table)

    def _flush(self, table: str) -> None:
        rows = self._rows[table]
        if rows:
            self._writers[table].write_table(self._arrow.Table.from_pylist(rows, schema=self._schemas[table]))
        self._rows[table] = []


def arrow_schema(table: str) -> Any:
    """The Arrow schema of a table."""
    import pyarrow as pa  # noqa: PLC0415  # 50 ms, and optional

    types = {"bool": pa.bool_(), "string": pa.string()}
    return pa.schema([(name, types.get(kind) or getattr(pa, kind)()) for name, kind in TABLES[table].items()])


# ---------------------------------------------------------------- rows of one trace


def _rows_of(trace: Trace, inspection: Inspection, block: str) -> dict[str, Iterable[dict[str, Any]]]:
    return {
        "traces": [_trace_row(trace, inspection, block)],
        "turns": _turn_rows(trace),
        "calls": _call_rows(inspection),
        "steps": map(_step_row, inspection.chain.steps),
        "diagnostics": _diagnostic_rows(inspection),
    }


def _trace_row(trace: Trace, inspection: Inspection, block: str) -> dict[str, Any]:
    keys, figures = keys_of(trace, inspection), figures_in(trace, inspection)
    severities = Counter(diagnostic.rule.severity for diagnostic in inspection.diagnostics)
    broken = inspection.chain.broken
    return {
        "block": block,
        "source": _clean(keys.source),
        "name": _clean(trace.name),
        "model": _clean(keys.model),
        "format": _clean(keys.format),
        "started_s": trace.started.at_s if trace.started is not None else None,
        "day": keys.day,
        "prompt": keys.prompt,
        "reasoning": keys.reasoning,
        "turns": len(trace.turns),
        "calls": figures.calls.calls,
        "status": inspection.chain.status.value,
        "verdict_certainty": inspection.chain.certainty.value,
        "success": figures.success,
        "break_step": broken and broken.step,
        "break_turn": broken and broken.turn,
        "break_tool": broken and _maybe(broken.tool),
        "break_outcome": broken and broken.outcome.value,
        "break_code": broken and _maybe(broken.code),
        "break_message": broken and _clean(broken.message),
        "break_reaction": broken and broken.reaction and broken.reaction.value,
        "abort_reason": _maybe(inspection.chain.abort_reason),
        "errors": severities[Severity.ERROR],
        "warnings": severities[Severity.WARNING],
        "infos": severities[Severity.INFO],
        "figures": write_json(dict(figures.numbers())),
    }


def _turn_rows(trace: Trace) -> Iterator[dict[str, Any]]:
    for number, turn in enumerate(trace.turns, 1):
        generation = turn.generation
        yield {
            "turn": number,
            "role": turn.role.value,
            "parts": len(turn.parts),
            "characters": sum(len(part.text) for part in turn.parts),
            "model": _clean(generation.answered_model or generation.requested_model)
            if generation is not None
            else None,
            "finish_reason": _maybe(generation.finish_reason) if generation else None,
        }


def _call_rows(inspection: Inspection) -> Iterator[dict[str, Any]]:
    placed = ((part, call) for part in inspection.parts for call in part.calls)
    for number, (part, call) in enumerate(placed, 1):
        yield {
            "number": number,
            "turn": part.turn,
            "part": _clean(part.part),
            "start": call.range.start,
            "end": call.range.end,
            "tool": _maybe(call.name),
            "arguments": _json_text(call.arguments),
            "valid": call.valid,
            "recovered": call.recovered,
        }


def _step_row(step: Step) -> dict[str, Any]:
    return {
        "step": step.number,
        "turn": step.location.turn,
        "part": _clean(step.location.part),
        "start": step.call.range.start,
        "end": step.call.range.end,
        "tool": _maybe(step.call.name),
        "outcome": step.outcome.value,
        "certainty": step.certainty and step.certainty.value,
        "recovery": step.recovery and step.recovery.value,
        "recovered_by": step.recovered_by,
        "result_kind": step.result_kind and step.result_kind.value,
        "said": step.said and step.said.value,
    }


def _diagnostic_rows(inspection: Inspection) -> Iterator[dict[str, Any]]:
    for number, diagnostic in enumerate(inspection.diagnostics, 1):
        yield {
            "number": number,
            "turn": diagnostic.location.turn,
            "part": _clean(diagnostic.location.part),
            "start": diagnostic.range.start,
            "end": diagnostic.range.end,
            "code": diagnostic.rule.code,
            "severity": diagnostic.rule.severity.value,
            "message": _clean(diagnostic.fault.message),
        }


def _json_text(value: Json) -> str | None:
    return None if value is None else _clean(write_json(value))


def _maybe(text: str | None) -> str | None:
    return None if text is None else _clean(text)


def _clean(text: str) -> str:
    """The text with lone surrogates replaced, because UTF-8 cannot encode them."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
