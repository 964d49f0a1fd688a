"""What an import counts."""

from tests.ui.scenes import broken_trace
from weaklink.inspector.chain.steps import Chain, Status
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.inspected import Inspection, PartInspection
from weaklink.inspector.model import Generation, Part, Role, ToolCall, Trace, Turn, TurnFlag
from weaklink.inspector.text import Range
from weaklink.ui.reports.import_report import (
    Counts,
    FileReport,
    counts_of,
    import_lines,
    import_sentences,
    report_object,
)
from weaklink.ui.views.styled_text import plain, width_of

FILE_KEYS = [
    *("path", "source", "refused", "traces", "requests", "turns", "tool_calls", "tools", "diagnostics", "skipped"),
    *("warnings", "redacted", "why"),
]


def test_structured_in_band_and_malformed_calls_all_count() -> None:
    assert counts_of(*broken_trace()) == Counts(
        traces=1,
        requests=3,
        turns=7,
        tool_calls=3,
        tools={"get_weather": 2, "now": 1},
        diagnostics={"J104": 1, "T404": 1, "C505": 1},
    )


def test_what_the_model_did_not_write_in_this_session_does_not_count() -> None:
    text = Part("text", "x")
    flags = (TurnFlag.COPIED_CONTEXT, TurnFlag.DEMONSTRATION, TurnFlag.INJECTED, TurnFlag.SYNTHETIC)
    turns = (
        *(Turn(Role.ASSISTANT, (text,), generation=Generation(), flags=frozenset({flag})) for flag in flags),
        Turn(Role.SYSTEM, (text,)),
        Turn(Role.ASSISTANT, (text,)),
    )
    call = ToolCall(None, "x", "x", False, Range(0, 1))
    parts = tuple(PartInspection(number, "text", "hermes", (), (call,)) for number in range(1, 7))
    counts = counts_of(Trace(turns), Inspection("0", "hermes", parts, Chain((), Status.OK), ()))
    assert counts == Counts(1, 0, 6, 1, {"": 1}, {})


def test_the_report_has_every_key_and_sums_up() -> None:
    counts = Counts(1, 2, 3, 4, {"f": 4}, {"J104": 1})
    read = FileReport(
        "a", "sharegpt", None, counts + counts, (Skipped("line 2", "not JSON"),), ("no times",), redacted=3
    )
    report = report_object([read, FileReport("b", refused="b: the file is empty")])
    assert [list(file) for file in report["files"]] == [FILE_KEYS, FILE_KEYS]
    assert report["totals"] == {
        "files": 2,
        "refused": 1,
        "traces": 2,
        "requests": 4,
        "turns": 6,
        "tool_calls": 8,
        "tools": {"f": 8},
        "diagnostics": {"J104": 2},
        "skipped": 1,
        "redacted": 3,
    }


def test_people_read_what_was_skipped_and_refused_by_reason_with_one_example() -> None:
    skipped = tuple(Skipped(f"line {number}", f"not JSON: column {number} of `{'x' * number}`") for number in range(7))
    read = FileReport("a\x1b", "sharegpt", None, Counts(traces=1_000, turns=2), skipped, ("It kept no times.",))
    lines = list(import_lines([read, FileReport("b", refused="b: the file is empty")], width=80))
    shown = "\n".join(map(plain, lines))
    assert all(width_of(line) <= 80 for line in lines)
    assert " 1,000" in shown
    assert shown.count("▲ skipped") == 1
    assert "▲ skipped 7 records: for example a␛ line 0: not JSON: column 0" in shown
    assert "✖ refused b: the file is empty" in shown
    assert "1 file read: 1,000 traces, 2 turns, 0 calls, 0 faults, 7 records skipped, 1\n    file refused" in shown


def test_files_of_one_folder_and_source_are_one_line_with_totals() -> None:
    files = [
        *(FileReport(f"logs/{n}.jsonl", "s", counts=Counts(traces=2, turns=n)) for n in range(3)),
        FileReport("logs/t.jsonl", "t", counts=Counts(traces=1)),
        FileReport("x.jsonl", "s", counts=Counts(traces=5)),
        *(FileReport(f"logs/{n}.txt", refused=f"logs/{n}.txt: not a log (first word `{n}`)") for n in range(4)),
        FileReport("logs/empty", refused="logs/empty: the file is empty"),
    ]
    grouped = [plain(line).split() for line in import_lines(files, width=80)]
    assert grouped[1:4] == [
        ["3", "6", "3", "0", "0", "s", "logs/"],
        ["1", "1", "0", "0", "0", "t", "logs/t.jsonl"],
        ["1", "5", "0", "0", "0", "s", "x.jsonl"],
    ]
    shown = [plain(line) for line in import_lines(files, width=80)]
    assert [line for line in shown if "refused" in line][:2] == [
        "✖ refused 4 files: for example logs/0.txt: not a log (first word `0`)",
        "✖ refused logs/empty: the file is empty",
    ]
    every = [plain(line) for line in import_lines(files, width=80, every_file=True)]
    assert all(any(file.path in line for line in every) for file in files)


def test_without_a_limit_no_path_is_wrapped() -> None:
    path = f"{'folder with blanks/' * 40}{'x' * 300}.jsonl"
    files = [FileReport(path, "s"), FileReport(f"{path}.bad", refused="the file is empty")]
    shown = [plain(line) for line in import_lines(files, width=1 << 20)]
    assert any(line.endswith(path) for line in shown)
    assert f"✖ refused {path}.bad: the file is empty" in shown


def test_people_read_why_files_are_what_they_are_once_for_all_of_them() -> None:
    files = [FileReport(name, "s", why="It has rows.") for name in ("a", "b")]
    lines = [plain(line) for line in import_lines(files, width=80)]
    assert [line for line in lines if line.startswith("· source")] == ["· source 2 files: It has rows."]


def test_what_many_files_lack_is_said_once() -> None:
    files = [FileReport(name, "s", warnings=("no times", *more)) for name, more in (("a", ()), ("b", ("no tools",)))]
    notes = [plain(line) for line in import_lines(files, width=80) if plain(line).startswith("·")]
    assert notes == ["· note 2 files: no times", "· note b: no tools"]


def test_notes_beyond_the_limit_are_counted() -> None:
    files = [FileReport("a", "s", warnings=tuple(f"note {letter}" for letter in "abcde"))]
    notes = [plain(line) for line in import_lines(files, width=80, most_notes=3) if plain(line).startswith("·")]
    assert notes[2:] == ["· note a: note c", "· note 2 more notes on the sources; --verbose prints all"]


def test_people_read_what_the_database_had_already() -> None:
    files = [FileReport("a", "s", counts=Counts(traces=3), unchanged=1, replaced=1), FileReport("b", "s", unchanged=2)]
    *_, last = import_lines(files, width=200)
    assert plain(last).startswith("2 files read: 3 traces (3 unchanged, 1 updated), 0 turns")


def test_an_empty_report_is_a_report() -> None:
    assert [plain(line) for line in import_lines([], width=80)] == [
        "0 files read: 0 traces, 0 turns, 0 calls, 0 faults"
    ]


def test_a_note_names_its_file_without_the_folders_that_the_table_has() -> None:
    def read(path: str, why: str) -> FileReport:
        return FileReport(path, "openai", counts=Counts(traces=1), warnings=(f"{why} has no times.",), why=why)

    alone, *namesakes = read("/srv/logs/a.jsonl", "one"), read("/srv/x/b.jsonl", "two"), read("/srv/y/b.jsonl", "three")
    notes = ["".join(run.text for run in line) for line in import_sentences([alone, *namesakes])]
    assert "· note a.jsonl: one has no times." in notes
    assert "· source a.jsonl: one" in notes
    assert "· note /srv/x/b.jsonl: two has no times." in notes
