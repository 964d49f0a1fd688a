"""Data: the report on a set of training data, its samples by fault, type and score, and a fault injected into one."""

import hashlib
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from pathlib import Path

import streamlit as st
from msgspec import Struct

from weaklink.inspector.dataset.data_files import DataRow, RejectedRow
from weaklink.inspector.dataset.diversity import SampleFacts, SetReport, facts_of
from weaklink.inspector.dataset.injection import InjectedRow, inject_faults
from weaklink.inspector.dataset.lint.linting import LintOptions, format_of_set, linted
from weaklink.inspector.dataset.rows import read_file
from weaklink.inspector.dataset.samples import Sample, read_sample
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.json_text import write_json
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.ui.reports.static_report import SHARE_TITLES, count_lines, is_gap, recommended_words, share_rows
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.styled_text import Line, Run, Style, counted, visible_line
from weaklink.ui.views.text_diff import text_diff_lines
from weaklink.ui.views.triage import code_title
from weaklink.ui.web.components import BarCell, ListingCell, ListingColumn, ListingRow, MinimumWidth, dissector, listing
from weaklink.ui.web.markup import label, put_lines, put_prose, put_sentence
from weaklink.ui.web.navigation import number_parameter, parameter, set_parameters
from weaklink.ui.web.stream_data import stream_data, value_rows, window_of

_MAX_ROWS, _MAX_LISTED, _PEEKED = 2_000, 200, 200
_WIDTH = 110
_CACHED_SETS, _FRESH_S = 4, 3_600
_ALL = "any"
_SEED = 1
_MAX_REASON_CHARS = 400
_MAX_ENDING_CHARS = 16  # characters; the file name comes from the user
_COLUMNS = (
    *(ListingColumn("row", "end"), ListingColumn("faults"), ListingColumn("type", room=MinimumWidth.MEDIUM)),
    *(ListingColumn("score", "end"), ListingColumn("calls", "end", room=MinimumWidth.MEDIUM)),
)
_SHARE_COLUMNS = (
    *(ListingColumn("what", room=MinimumWidth.SMALL), ListingColumn("value"), ListingColumn("share")),
    *(ListingColumn("recommended", "end", room=MinimumWidth.SMALL), ListingColumn("deviation", "end")),
)


class LintedSample(Struct, frozen=True):
    """A sample with its inspection and its facts."""

    sample: Sample
    inspection: Inspection
    facts: SampleFacts

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of its faults, each once."""
        return tuple(dict.fromkeys(diagnostic.rule.code for diagnostic in self.inspection.diagnostics))


class LintedSet(Struct, frozen=True):
    """A window of a file's rows: its samples, how many rows could not be read (`rejected`), and why not the first one.

    `first` and `last` are the numbers of its first and last row among the `total` rows of the file, from 1; 0 if it is
    empty.
    """

    samples: tuple[LintedSample, ...]
    rejected: int
    first: int
    last: int
    total: int
    why_rejected: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether these are all rows of the file."""
        return self.last - self.first + 1 >= self.total


def read_set(path: str, window: int = 1) -> LintedSet:
    """A window of two thousand rows of a file, checked by the rules of training data; windows are numbered from 1.

    If the file has no such window, it is the first one. The format of the set is that of its first rows, as in
    `weaklink data lint`. Rows before and after the window are counted, but not kept.
    """
    rows = read_file(path)
    peeked = list(islice(rows, _PEEKED))
    options = LintOptions(set_format=format_of_set(read_sample(row) for row in peeked if isinstance(row, DataRow)))
    numbered = enumerate(chain(peeked, rows), 1)
    start = (max(window, 1) - 1) * _MAX_ROWS
    before = sum(1 for _ in islice(numbered, start))
    window_rows = list(islice(numbered, _MAX_ROWS))
    if not window_rows and start:
        return read_set(path)
    total = before + len(window_rows) + sum(1 for _ in numbered)
    samples = [read_sample(row) for _, row in window_rows if isinstance(row, DataRow)]
    linted_samples = tuple(
        LintedSample(sample, linted(sample, options), facts_of(sample, options=options)) for sample in samples
    )
    first, last = (window_rows[0][0], window_rows[-1][0]) if window_rows else (0, 0)
    why = next((f"{row.record}: {row.reason}" for _, row in window_rows if isinstance(row, RejectedRow)), "")
    return LintedSet(
        linted_samples, len(window_rows) - len(samples), first, last, total, why_rejected=Redactor().text(why)
    )


def selected_samples(samples: Iterable[LintedSample], code: str, type_: str) -> list[LintedSample]:
    """The samples with a fault of this code and with this type (an empty one matches all); the lowest score first."""
    selected = [
        sample
        for sample in samples
        if (not code or code in sample.codes) and (not type_ or type_ == (sample.sample.type or ""))
    ]
    return sorted(selected, key=lambda sample: sample.facts.score)


def show() -> None:
    """Draw the page."""
    st.title("Data", anchor=False)
    st.caption("Training data in JSON lines, JSON, Parquet or Arrow. The file is checked here and not kept.")
    upload = st.file_uploader("A set of training data", key="weaklink_data_file")
    if upload is None:
        st.text("In a terminal: weaklink data lint, data report, data score and data inject.")
        return
    content = upload.getvalue()
    digest = hashlib.sha256(content).hexdigest()
    show_set(_read(upload.name, digest, content, number_parameter("window") or 1), upload.name)


@st.cache_resource(show_spinner="Reading …", max_entries=_CACHED_SETS, ttl=_FRESH_S)
def _read(name: str, digest: str, _content: bytes, window: int) -> LintedSet:
    with tempfile.TemporaryDirectory() as folder:
        endings = (
            suffix for suffix in Path(name).suffixes[-2:] if suffix[1:].isalnum() and len(suffix) <= _MAX_ENDING_CHARS
        )
        path = Path(folder, f"set{''.join(endings)}")
        path.write_bytes(_content)
        return read_set(str(path), window)


def show_set(linted_set: LintedSet, name: str) -> None:
    """Draw the report, the list of samples and the selected sample."""
    if not linted_set.is_whole:
        _show_windows(linted_set)
    why = label(linted_set.why_rejected, _MAX_REASON_CHARS)
    if not linted_set.samples:
        st.error(f"No row of {label(name)} could be read: {why or 'it has none'}.")
        return
    if linted_set.rejected:
        st.caption(f"{counted(linted_set.rejected, 'row')} could not be read; {why}")
    with st.expander("Data set report"):
        _show_report(linted_set.samples)
    chosen = _chosen_sample(linted_set.samples)
    if chosen is not None:
        _show_sample(chosen)


def _show_report(samples: Iterable[LintedSample]) -> None:
    """Draw the shares of a set beside the recommended ones as a table, and what else is counted below it."""
    report = SetReport()
    for sample in samples:
        report.add(sample.facts)
    value = report.value()
    put_sentence(f"{counted(report.samples, 'sample')}, {report.with_calls:,} with calls")
    rows = [
        ListingRow(f"{group}={name}", _share_cells(group, name, share, recommended, off))
        for group, name, share, recommended, off in share_rows(value)
    ]
    listing(_SHARE_COLUMNS, rows, key="weaklink_shares", label="Shares of samples", most_rem=24)
    put_prose([_counted_line(line) for line in count_lines(value)])


def _share_cells(
    group: str, name: str, share: float, recommended: float | None, off: float | None
) -> tuple[ListingCell, ...]:
    deviation = "" if off is None else f"{off:+.1%}"
    return (
        (Run(SHARE_TITLES[group], Style.DIM),),
        (Run(visible_line(name), Style.STRONG),),
        BarCell(share, (Run(f"{share:.1%}"),)),
        (Run("-" if recommended is None else recommended_words(group, recommended), Style.DIM),),
        (Run(f"▲ {deviation}", Style.WARNING) if is_gap(off) else Run(deviation or "-", Style.DIM),),
    )


def _counted_line(text: str) -> Line:
    name, _, numbers = text.partition(": ")
    return (Run(f"{visible_line(name)}: ", Style.DIM), Run(visible_line(numbers)))


def _show_windows(linted_set: LintedSet) -> None:
    """Draw a note that the page below covers only these rows, and buttons to the other rows."""
    st.info(
        f"Rows {linted_set.first:,} to {linted_set.last:,} of {linted_set.total:,}: the report, the samples and the "
        "numbers below cover only these rows. In a terminal, `weaklink data report` and `data lint` read all of them."
    )
    window = (linted_set.first - 1) // _MAX_ROWS + 1
    left, right = st.columns(2)
    if window > 1 and left.button(_window_words(window - 1, linted_set.total), icon=":material/chevron_left:"):
        _go_to(window - 1)
    if linted_set.last < linted_set.total and right.button(
        _window_words(window + 1, linted_set.total), icon=":material/chevron_right:"
    ):
        _go_to(window + 1)


def _go_to(window: int) -> None:
    set_parameters(window=window, row=None)
    st.rerun()


def _window_words(window: int, total: int) -> str:
    return f"Rows {(window - 1) * _MAX_ROWS + 1:,} to {min(window * _MAX_ROWS, total):,}"


def _chosen_sample(samples: Sequence[LintedSample]) -> LintedSample | None:
    """Draw the list of samples; return the selected one."""
    codes = Counter(code for sample in samples for code in sample.codes)
    types = Counter(sample.sample.type or "" for sample in samples)
    left, right = st.columns(2)
    code = left.selectbox(
        "Fault",
        ["", *(code for code, _ in codes.most_common())],
        format_func=lambda value: f"{code_title(value)} ({codes[value]:,})" if value else _ALL,
        key="weaklink_data_code",
    )
    type_ = right.selectbox(
        "Type",
        ["", *(kind for kind, _ in types.most_common() if kind)],
        format_func=lambda value: f"{visible_line(value)} ({types[value]:,})" if value else _ALL,
        key="weaklink_data_type",
    )
    matching = selected_samples(samples, code, type_)
    rows = [_row(sample) for sample in matching[:_MAX_LISTED]]
    if not rows:
        st.info("No sample has both this fault and this type.")
        return None
    keys = [row.key for row in rows]
    selected = parameter("row") if parameter("row") in keys else keys[0]
    done = listing(_COLUMNS, rows, key="weaklink_samples", selected=selected, label="Samples", most_rem=18)
    left_out = f"; the first {_MAX_LISTED} are listed" if len(matching) > _MAX_LISTED else ""
    st.caption(f"{counted(len(matching), 'sample')}, the lowest score first{left_out}.")
    picked = done.opened or done.picked
    if picked is not None:
        set_parameters(row=picked)
        selected = picked
    return matching[keys.index(selected)] if selected in keys else None


def _row(sample: LintedSample) -> ListingRow:
    faults = ", ".join(sample.codes)
    cells = (
        (Run(str(sample.sample.row.number)),),
        (Run(faults or "-", Style.ERROR if faults else Style.DIM),),
        (Run(visible_line(sample.sample.type or "-")),),
        (Run(f"{sample.facts.score:.2f}"),),
        (Run(str(sample.facts.steps)),),
    )
    return ListingRow(str(sample.sample.row.number), cells)


def _show_sample(sample: LintedSample) -> None:
    """Draw a sample in the dissector, and what an injected fault changes in it."""
    st.subheader(label(sample.sample.record), anchor=False)
    trace, number = sample.sample.reported_trace, sample.sample.row.number
    window = window_of(trace, 1)
    data = stream_data(trace, sample.inspection, window)
    values = value_rows(Dissection(trace, sample.inspection), window, 1)
    dissector(
        {**data, "values": values, "version": f"{number}", "selected": None, "grows": False},
        key=f"weaklink_sample_{number}",
    )
    seed = number_parameter("seed") or _SEED
    if not st.toggle("Inject a fault: before and after", key="weaklink_inject"):
        return
    if st.button("Another fault", icon=":material/casino:"):
        set_parameters(seed=seed + 1)
        seed += 1
    (injected,) = inject_faults(sample.sample.row, seed=seed)
    if not isinstance(injected, InjectedRow):
        st.info(label(f"Nothing was injected: {injected.reason}.", most=500))
        return
    st.caption(label(f"{injected.kind}, seed {seed}", most=200))
    before, after = (_laid_out(value) for value in (sample.sample.row.value, injected.value))
    put_lines(text_diff_lines(before, after, _WIDTH))


def _laid_out(value: object) -> str:
    """A row with each member and each message on separate lines."""
    if isinstance(value, dict):
        return "\n".join(f"{key}:\n{_laid_out(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return "\n".join(_laid_out(inner) for inner in value)
    return value if isinstance(value, str) else write_json(value, ascii_only=False)
