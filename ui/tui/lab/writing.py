"""Writes a reading of the lab to a file, as JSON."""

from pathlib import Path

from inspector.json_text import write_json
from inspector.segmentation import Segmentation
from ui.reports.whole_file import whole_file
from ui.views.segment_json import segmentation_object


def write_reading(reading: Segmentation, path: str) -> Path:
    """Write what `weaklink segment --json` prints, whole or not at all; where that is. UnwritableFileError."""
    target = Path(path).expanduser().absolute()
    with whole_file(target) as out:
        out.write(write_json(segmentation_object(reading)) + "\n")
    return target


def wrong_with(path: str) -> str | None:
    """What is wrong with a path to write to, in a sentence; None for nothing."""
    if not path.strip():
        return "The file wants a name."
    target = Path(path).expanduser()
    if target.is_dir():
        return "This is a folder; name a file in it."
    return None if target.absolute().parent.is_dir() else f"There is no folder `{target.parent}`."
