"""A file that is to be imported."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """A file to read: where it lies, what its user calls it where that is something else, and how much of it.

    `size_bytes` is None where all of it is to be read. `with_it` are further files that are read with it as one log.
    `is_walked` says that its user named a folder, not the file.
    """

    path: str
    called: str | None = None
    size_bytes: int | None = None
    with_it: tuple[str, ...] = ()
    is_walked: bool = False

    @property
    def name(self) -> str:
        """What reports call it."""
        return self.path if self.called is None else self.called
