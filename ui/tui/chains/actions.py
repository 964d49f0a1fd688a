"""Actions on the trace under the cursor (export, copy, mark, note), and the sentences of the home screen."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from msgspec.structs import replace
from textual.screen import Screen

from inspector.chain.steps import Status
from inspector.errors import WeaklinkError
from inspector.model import Liveness
from storage import Mark, NoDatabaseYetError, Order, Store, TraceSummary
from ui.tui.chains.chain_list import ChainList, TracePages
from ui.tui.dialogs import ChoiceDialog, DialogChoice, LineDialog, copy_choice
from ui.tui.exporting import FORMS, export_problem, export_traces, proposed_name
from ui.tui.line_bar import ClickTarget, StatusLine
from ui.tui.store_access import StoreAccess, error_sentence, start_work
from ui.views.links import Link
from ui.views.status import LIVENESS, status_run
from ui.views.styled_text import Line, Run, Style, visible_line
from ui.views.trace_columns import ORDER_WORDS
from ui.views.trace_json import trace_title
from ui.views.wording import counted, quoted, wrapped

_MARKING = "writing the mark"  # another program may be writing: then that takes some seconds
_MOST_IDS = 8


class ChainActions(Screen[None]):
    """A screen with a list of chains; the base of the home screen."""

    def __init__(self, access: StoreAccess) -> None:
        super().__init__()
        self._access = access

    @property
    def chains(self) -> ChainList:
        """The list."""
        return self.query_one(ChainList)

    def on_screen_resume(self) -> None:
        """What was marked or noted on another screen shows in the list."""
        if self.chains.current is not None:
            start_work(self, self._look_again, "resume")

    def tell(self, said: str, *, is_error: bool = False) -> None:
        """Say something for a moment."""
        self.notify(visible_line(said), severity="error" if is_error else "information", markup=False)

    def action_export(self) -> None:
        """Ask for a file and write the chain to it."""
        current = self.chains.current
        if current is not None:
            title, typed = f"export trace {current.id}", proposed_name(current)
            dialog = LineDialog(title, about=f"{FORMS}.", typed=typed, wrong=export_problem)
            self.app.push_screen(dialog, partial(self._export, current.id))

    def action_copy(self) -> None:
        """Choose what to copy."""
        current = self.chains.current
        if current is not None:
            step = current.broken.step if current.broken else None
            choices = copies_of(current, self._access.where, step)
            self.app.push_screen(ChoiceDialog(f"copy of trace {current.id}", choices), self._copy)

    def action_mark(self) -> None:
        """Mark the chain, or take its mark away."""
        current = self.chains.current
        if current is not None:
            question = partial(_toggled, current.id)
            start_work(self, partial(self._changed_mark, question), "mark", supersedes=False)

    def action_note(self) -> None:
        """Ask for a note and keep it."""
        current = self.chains.current
        if current is not None:
            start_work(self, partial(self._ask_note, current.id), "note")

    async def _ask_note(self, id: int) -> None:
        """Ask for the note of the chain as a whole: its turns and steps may bear others."""
        try:
            marks = await self._access.ask(lambda store: store.marks.of([id]).get(id, ()))
        except WeaklinkError as error:
            self.tell(error_sentence(error, self._access.name), is_error=True)
            return
        own = _own(marks)
        typed = own.note if own is not None else ""
        about = "The note stays with the trace; an empty one takes it away."
        dialog = LineDialog(f"note on trace {id}", about=about, typed=typed)
        self.app.push_screen(dialog, partial(self._note, id, typed))

    def _note(self, id: int, before: str, note: str | None) -> None:
        if note is not None and note != before:
            start_work(self, partial(self._changed_mark, partial(_noted, id, note)), "mark", supersedes=False)

    async def _look_again(self) -> None:
        with suppress(WeaklinkError):  # who watches the store tells
            await self.chains.refresh_current()

    async def _changed_mark(self, question: Callable[[Store], str]) -> None:
        status = self.query_one(StatusLine)
        status.working = status.working or _MARKING
        try:
            said = await self._access.ask(question)
            await self.chains.refresh_current()
            self.tell(said)
        except WeaklinkError as error:
            self.tell(error_sentence(error, self._access.name), is_error=True)
        finally:
            status.working = "" if status.working == _MARKING else status.working

    def _export(self, id: int, path: str | None) -> None:
        if path is not None:
            start_work(self, partial(self._exported, id, path), "export", supersedes=False)

    async def _exported(self, id: int, path: str) -> None:
        try:
            written = await self._access.ask(partial(export_traces, ids=(id,), path=path))
            self.tell(f"Trace {id} is written to {written}.")
        except WeaklinkError as error:
            self.tell(error_sentence(error, self._access.name), is_error=True)

    def _copy(self, text: str | None) -> None:
        if text is not None:
            self.app.copy_to_clipboard(text)
            self.tell(f"Copied: {text}")


def _toggled(id: int, store: Store) -> str:
    """Mark a trace, or take its own mark away: those of its turns and steps stay, and so does one that bears a note."""
    marks = store.marks.of([id]).get(id, ())
    own = _own(marks)
    if own is None:
        store.marks.put(id)
        return f"Trace {id} is marked."
    if own.note:
        return "There is a note here: empty it with `;` to take the mark away."
    store.marks.remove(id, own_only=True)
    left = len(marks) - 1
    return f"The mark of trace {id} is taken away." + (f" {counted(left, 'mark')} in it stay." if left else "")


def _noted(id: int, note: str, store: Store) -> str:
    if note.strip():
        store.marks.put(id, note=note.strip())
        return f"The note on trace {id} is kept."
    store.marks.remove(id, own_only=True)
    return f"The note on trace {id} is taken away."


def _own(marks: Sequence[Mark]) -> Mark | None:
    """The mark of the trace as a whole."""
    return next((one for one in marks if one.turn is None and one.step is None), None)


def status_cells(counts: Mapping[str, int], wanted: str) -> list[ClickTarget]:
    """How many chains have each status; a click filters by it, and that of the filter is in brackets."""
    signs = {status.value: status_run(status) for status in Status}
    signs |= {state.value: LIVENESS[state] for state in (Liveness.RUNNING, Liveness.IDLE)}
    spots = []
    for status, run in signs.items():
        if counts.get(status):
            line: Line = (Run(f"{run.text[0]} {counts[status]:,} {status}", run.style),)
            if f"status:{status}" in wanted.split():
                line = (Run("[", Style.STRONG), *line, Run("]", Style.STRONG))
            spots.append(ClickTarget(f"status:{status}", line))
    return spots


def shown_count(pages: TracePages, wanted: str, total: int, order: Order) -> Line:
    """How many chains are shown of `total`; `+` while the list is still being walked over."""
    if not (pages.count or pages.is_complete):
        return ()  # nothing was read yet, or could be
    more = "" if pages.is_complete else "+"
    sorted_ = f", {ORDER_WORDS[order]}"
    if not (wanted or pages.is_complete) and total > pages.count:
        return (Run(f"{total:,}", Style.STRONG), Run(f" {_chains(total)}{sorted_}"))
    of = f" of {total:,}" if wanted and total else ""
    what = _chains(total if of else pages.count)
    return (Run(f"{pages.count:,}{more}", Style.STRONG), Run(f"{of} {what}{sorted_}"))


def _chains(count: int) -> str:
    return "chain" if count == 1 else "chains"


def nothing_lines(place: str, wanted: str, problem: WeaklinkError | None, width: int) -> list[Line]:
    """What stands in the place of a list without lines, and what to do about it."""
    said = _nothing(place, wanted, problem)
    return [(), *((Run("  "), *line) for one in said for line in wrapped(quoted(one), width - 4))]


def _nothing(place: str, wanted: str, problem: WeaklinkError | None) -> Sequence[str]:
    if isinstance(problem, NoDatabaseYetError):
        return (
            f"There is no database at `{place}` yet.",
            "`weaklink demo` shows samples, `weaklink import PATH` reads logs, `weaklink record` records agents.",
            "What they bring appears here by itself. `weaklink tui --db PATH` opens another database.",
        )
    if problem is not None:
        said = error_sentence(problem).removesuffix(" `ctrl+r` tries again.")
        return (said, "`ctrl+r` tries again, `q` quits.")
    if wanted:
        return (f"No chain matches the filter `{wanted}`.", "`esc` clears it, `f` changes it.")
    return (
        f"The database `{place}` holds no traces yet.",
        "`weaklink import PATH` reads logs, `weaklink record` records agents; what they bring appears here by itself.",
    )


def copies_of(summary: TraceSummary, place: str | None, step: int | None = None) -> Sequence[DialogChoice]:
    """What of a chain can be copied."""
    option = f" --db {shlex.quote(place)}" if place else ""
    ours = {
        "command": f"weaklink show {summary.id}{option}",
        "link": str(Link(str(summary.id), step=step)),
        "id": str(summary.id),
        "name": trace_title(summary),
        "file": summary.file,
    }
    theirs = [
        copy_choice(f"source's {name}" if name in ours else name, value)
        for name, value in list(summary.external_ids.items())[:_MOST_IDS]
    ]
    *before, file = (copy_choice(name, value) for name, value in ours.items())
    about = visible_line(f"{summary.file} {summary.record}".strip())
    return [*before, *theirs, *([replace(file, about=about)] if summary.file else ())]
