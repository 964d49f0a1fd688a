"""The traces of a block: a file or a part of one, read by the importer that recognises the whole file.

The work on a block is retried after an error; after several errors the block is set aside.
"""

import io
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, groupby, islice
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct, structs

from weaklink.inspector.dataset.data_files import DataRow, RejectedRow
from weaklink.inspector.dataset.rows import read_block
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.blocks import Block, BlockLines, PlannedFile, expand_urls, path_of, plan_blocks
from weaklink.inspector.importers.held_content import HeldContent
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.records import NotJsonError, parse_json_bytes
from weaklink.inspector.importers.source import Numbering, SourceFile, is_url, local_path
from weaklink.inspector.importers.streams import BlockStream
from weaklink.inspector.json_text import write_json
from weaklink.inspector.memory import RECORD_BYTES
from weaklink.ui.importing.input_files import InputFile, files_to_read, find_files

_ROW_SOURCES = frozenset({"openai-messages", "sharegpt", "completions"})
"""Sources in which each line is a trace, unless the first line is a single message."""

_MESSAGE_KEYS = frozenset({"role", "from"})
_BOM = b"\xef\xbb\xbf"
_ARROW_SUFFIX = ".arrow"  # the streams that `datasets` writes have no magic bytes

ATTEMPTS = 3
"""The number of attempts before a block is set aside."""
_Answer = TypeVar("_Answer")
_PIECE = 100
BlockWork: TypeAlias = Callable[[Block], Iterable[_Answer]]
"""The work on a block: a module-level function, a partial of one, or a picklable callable. It must be deterministic."""


def plan_traces(paths: Sequence[str], source: str | None, block_bytes: int) -> list[Block]:
    """The blocks of the files, folders, patterns and URLs, for reading as traces. Raises UnreadableFileError."""
    files: list[PlannedFile] = []
    for is_remote, names in groupby(paths, lambda path: is_url(local_path(path))):
        if is_remote:
            files += expand_urls(list(names))
        else:
            inputs = list(find_files(map(local_path, names)))
            walked = {file.path for file in inputs if file.is_walked}
            groups = files_to_read([file.path for file in inputs], source)
            files += (PlannedFile(group.path, group.path in walked, group.with_it) for group in groups)
    return plan_blocks(files, lambda file: _has_separate_lines(file, source), block_bytes)


def _has_separate_lines(file: SourceFile, source: str | None) -> bool:
    """Whether every line of the file is a trace: its source allows that, and its first line is not a single message."""
    with file.open() as stream:
        line = stream.readline(RECORD_BYTES)
    try:
        first = parse_json_bytes(line.removeprefix(_BOM))
    except NotJsonError:
        return False
    if not isinstance(first, dict) or first.keys() & _MESSAGE_KEYS:
        return False
    try:
        return read_source(file.path, source, name=file.name, content=file.content).source in _ROW_SOURCES
    except UnreadableFileError:
        return False


@contextmanager
def placed_block(block: Block) -> Iterator[InputFile]:
    """The block as a file to read. Until the context ends, the rows of a table are held."""
    file = InputFile(str(path_of(block.path)), block.path, with_it=block.with_it, is_walked=block.is_walked)
    if block.kind == "lines":
        lines = BlockLines(block)
        yield structs.replace(file, content=lines, numbering=lines.numbering)
    elif block.kind == "rows" or block.path.lower().endswith(_ARROW_SUFFIX):
        with HeldContent(io.BufferedReader(BlockStream(_row_lines(block)))) as held:
            yield structs.replace(file, content=held, numbering=Numbering("row", block.first, has_head=block.first > 1))
    else:
        yield structs.replace(file, called=None if block.content is None else block.path, content=block.content)


def _row_lines(block: Block) -> Iterator[bytes]:
    """The rows of a table's block as JSON lines; if the block is not the first, the file's first row precedes them.

    A row that cannot be read becomes `null`, so that the row numbers stay right.
    """
    head: Iterable[DataRow | RejectedRow] = ()
    if block.first > 1:
        head = islice(read_block(structs.replace(block, start=0, end=1, first=1)), 1)
    for row in chain(head, read_block(block)):
        yield (write_json(row.value) if isinstance(row, DataRow) else "null").encode() + b"\n"


class Piece(Struct, Generic[_Answer], frozen=True):
    """Some answers of a block, in order. `number` counts the pieces of the block from 0; `is_last` marks the last one.

    `failed` is the reason if the block was set aside; its earlier pieces stay valid.
    """

    block: Block
    number: int
    answers: tuple[_Answer, ...] = ()
    is_last: bool = False
    failed: str = ""


def pieces_of(work: BlockWork[_Answer], block: Block) -> Iterator[Piece[_Answer]]:
    """The pieces of one block. Exceptions of the work propagate."""
    answers = iter(work(block))
    number = 0
    while batch := tuple(islice(answers, _PIECE)):
        yield Piece(block, number, batch)
        number += 1
    yield Piece(block, number, is_last=True)


def attempted_pieces(work: BlockWork[_Answer], block: Block, skip: int = 0) -> Iterator[Piece[_Answer]]:
    """The pieces of one block; after an error the block is read again, and after `ATTEMPTS` errors it is set aside.

    The first `skip` pieces are not yielded.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            for piece in pieces_of(work, block):
                if piece.number >= skip:
                    yield piece
                    skip += 1
            return  # only an error leads to another attempt
        except Exception as error:  # noqa: BLE001  # one bad block must not stop the others
            if attempt == ATTEMPTS:
                yield Piece(
                    block, skip, is_last=True, failed=f"{' '.join(str(error).split())} ({type(error).__name__})"
                )
            elif isinstance(error, OSError):
                time.sleep(0.2 * 4**attempt)  # the object store may be busy
    return
