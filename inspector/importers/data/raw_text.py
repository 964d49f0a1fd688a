"""Raw transcripts and completions as plain text: a file is one trace.

A transcript in a chat template (ChatML, Llama 3, Gemma, harmony, DeepSeek, functionary) is split into its turns; any
other text is one assistant turn. Joining the turns' texts gives the file exactly.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from inspector.formats.detection import detect_format
from inspector.formats.transcript import read_transcript, split_turns
from inspector.importers.records import too_long
from inspector.importers.source import FileSample, Skipped, SourceFile
from inspector.memory import RECORD_BYTES, RECORD_MEMORY, too_much, transcript_memory
from inspector.model import Provenance, RecognisedBy, Trace
from inspector.text import decode

_HEADERS = (
    "<|im_start|>",
    "<|start_header_id|>",
    "<start_of_turn>",
    "<|start|>",
    "<|from|>",
    "<｜begin▁of▁sentence｜>",
)

_NEAR = 300


class RawTextImporter:
    """One trace a file; one that would take too much memory is skipped."""

    name = "raw-text"
    signs = "the markers of a chat template, or a call near the beginning of a text"

    def recognises(self, sample: FileSample) -> float:
        """By the header of a chat template at its beginning, or by a call near it.

        A call far from the beginning proves nothing: documentation and programs quote calls too.
        """
        text = sample.text.lstrip("\ufeff \t\r\n")
        if "\0" in text or text.startswith(("{", "[{")):
            return 0.0
        if text.startswith(("<|begin_of_text|>", "<s>", "<bos>", *_HEADERS)) and split_turns(text[:4096]):
            return 0.5
        near = text if text.startswith("<") else text[:_NEAR]
        return 0.3 if detect_format(near).confidence >= 0.8 else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The one trace."""
        with file.open() as stream:
            raw = stream.read(RECORD_BYTES + 1)
        if len(raw) > RECORD_BYTES:
            yield Skipped("file", too_long(RECORD_BYTES))
            return
        text = decode(raw)
        if (needed := transcript_memory(text)) > RECORD_MEMORY:
            yield Skipped("file", too_much(needed))
            return
        trace = read_transcript(text)
        yield replace(trace, recognised_by=RecognisedBy.FILE, provenance=Provenance(record="file"))
