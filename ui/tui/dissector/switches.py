"""The switches of the stream: wrapping, white space and the lanes."""

from dataclasses import replace

from ui.tui.dissector.deeds import TraceDeeds
from ui.views.dissect.lanes import missing_lanes
from ui.views.dissect.options import StreamOptions

_NOT_TOKENS = "A chunk is what arrived at once, not a token."


class StreamSwitches(TraceDeeds):
    """A screen whose stream can be shown in several ways."""

    def action_wrap(self) -> None:
        """Cut long lines into rows, or leave them whole."""
        options = self.panes.stream.options
        self._switch(replace(options, wrap=not options.wrap))

    def action_white_space(self) -> None:
        """Show blanks as glyphs, or as blanks."""
        options = self.panes.stream.options
        self._switch(replace(options, white_space=not options.white_space))

    def action_chunks(self) -> None:
        """Show where chunks begin, or no longer."""
        options = replace(self.panes.stream.options, chunks=not self.panes.stream.options.chunks)
        self._switch(options)
        self._say_what_is_missing(options, is_on=options.chunks, said=_NOT_TOKENS)

    def action_ids(self) -> None:
        """Show token ids, or no longer."""
        options = replace(self.panes.stream.options, ids=not self.panes.stream.options.ids)
        self._switch(options)
        self._say_what_is_missing(options, is_on=options.ids)

    def action_logprobs(self) -> None:
        """Show log probabilities, or no longer."""
        options = replace(self.panes.stream.options, logprobs=not self.panes.stream.options.logprobs)
        self._switch(options)
        said = "The log probabilities are those of the chunk's tokens. A chunk is not a token."
        self._say_what_is_missing(options, is_on=options.logprobs, said=said)

    def _switch(self, options: StreamOptions) -> None:
        self.panes.stream.change(options)

    def _say_what_is_missing(self, options: StreamOptions, *, is_on: bool, said: str = "") -> None:
        """Where a lane was switched on: that the recording has none of it here, else what is to be known of it."""
        if not is_on or self._opened is None or self._place is None:
            return
        part = self._opened.dissection.part(self._place.turn, self._place.part)
        missing = missing_lanes(part.source, options) if part is not None else ""
        if missing or said:
            self.tell(missing or said)
