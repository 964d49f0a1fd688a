"""weaklink's exceptions: for callers' mistakes and for the outside world, never for a fault in a stream."""


class WeaklinkError(Exception):
    """Base class of the exceptions that weaklink raises on purpose; the message names what failed and where."""


class UnknownFormatError(WeaklinkError):
    """No registered format has the requested name."""


class UnknownRuleError(WeaklinkError):
    """No rule has the requested code, name or prefix."""


class UnreadableFileError(WeaklinkError):
    """A file could not be read, or is not what its reader expects; the message contains path and line."""


class StoreError(WeaklinkError):
    """A database could not be opened, read or written; the message has its path, or its URL without the password."""


class SinkError(WeaklinkError):
    """Recorded data could not be delivered to its destination; the message names the destination."""


class InvalidPatternError(WeaklinkError):
    """A pattern from the caller cannot be used; the message contains the pattern and the reason."""


class ChatTemplateError(WeaklinkError):
    """A chat template could not be read, rendered or understood; the message names it and the reason."""


class FormatTableError(WeaklinkError):
    """The table of a format is not valid; the message names the table and the entry."""
