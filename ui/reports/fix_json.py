"""Repairs as one JSON object, in bounded memory."""

from typing import TextIO

from inspector.dataset.repair import Change
from inspector.diagnostics import Diagnostic
from inspector.text import LineIndex
from ui.reports.fix_report import FixedFile, Repaired
from ui.reports.json_array import JsonArray
from ui.views.segment_json import JsonObject, diagnostic_object


class FixJson:
    """Writes `{"files", "changes", "left"}` to a stream when all is done."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._files, self._changes, self._left = JsonArray(), JsonArray(), JsonArray()

    def repaired(self, repaired: Repaired) -> None:
        """Its repairs are more elements of `changes`, or of `left` where they were not made."""
        for change in repaired.changes:
            self._changes.add(change_object(repaired, change))
        for change in repaired.unplaced:
            self._left.add(_left_object(repaired, change.diagnostic, "unplaced"))
        for one in repaired.harmful:
            self._left.add(_left_object(repaired, one, "harmful"))

    def file(self, file: FixedFile) -> None:
        """One more element of `files`."""
        self._files.add(file_object(file))

    def close(self) -> None:
        """Write everything."""
        for name, array in (("files", self._files), ("changes", self._changes), ("left", self._left)):
            self._out.write(f'{"{" if name == "files" else ", "}"{name}": ')
            array.write_to(self._out)
        self._out.write("}\n")


def change_object(repaired: Repaired, change: Change) -> JsonObject:
    """A diagnostic with its place and its `fix`; both count in the part's text as the rounds before have left it."""
    said = diagnostic_object(change.diagnostic, LineIndex(change.text))
    in_arguments = said.pop("path")
    return {**_place(repaired, change.diagnostic), **said, "path_in_arguments": in_arguments, "round": change.round}


def file_object(file: FixedFile) -> JsonObject:
    """What became of a file."""
    return {
        "path": file.path,
        "source": file.source,
        "refused": file.refused,
        "output": file.output,
        "traces": file.traces,
        "skipped": file.skipped,
        "repaired_records": file.records,
        "changes": file.changes,
        "left": file.left,
    }


def _left_object(repaired: Repaired, one: Diagnostic, why: str) -> JsonObject:
    """`why` is `unplaced` (its text is no single value of the record) or `harmful` (more would be wrong)."""
    rule = one.rule
    return {**_place(repaired, one), "code": rule.code, "name": rule.name, "message": one.fault.message, "why": why}


def _place(repaired: Repaired, one: Diagnostic) -> JsonObject:
    return {
        "path": repaired.path,
        "record": repaired.record,
        "trace": repaired.title,
        "turn": one.location.turn,
        "part": one.location.part,
    }
