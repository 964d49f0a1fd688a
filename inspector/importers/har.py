"""HAR files (HTTP Archive 1.2) of browsers and proxies, plain or packed, read one entry after another."""

import re
from collections.abc import Iterator

from inspector.importers.exchanges import ProxyFile, ProxyRecord
from inspector.importers.har_container import HarContent, beginning_of, open_har
from inspector.importers.har_entries import HarDocument
from inspector.importers.har_entry import read_entry
from inspector.importers.identity import text_of
from inspector.importers.packing import DamagedDataError
from inspector.importers.rows import NotJsonError, parse_json
from inspector.importers.source import JsonObject, Sample, Skipped, SourceFile
from inspector.model import Trace

_LOG = re.compile(rb'"log"\s*:\s*\{')
_OF_A_LOG = re.compile(rb'"entries"\s*:\s*\[|"creator"\s*:\s*\{')
_LOST_ANSWERS = (
    "the HAR holds no body of an answer: it broke off, the proxy dropped it, or the file was saved without contents"
)
_LOST_REQUESTS = "the HAR keeps no body of the request"


class HarImporter:
    """The traces that a file's exchanges with models make up."""

    name = "har"
    signs = "a `log` with `entries`, plain or in an archive"

    def recognises(self, sample: Sample) -> float:
        """By a `log` with its creator or entries at the document's beginning."""
        head = beginning_of(sample.file)
        if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            return 0.0
        log = _LOG.search(head)
        return 1.0 if log and _OF_A_LOG.search(head, log.end()) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The traces; what is cut off or damaged, and once, counted, what is no exchange with a model.

        One entry at a time is in memory, of at most 64 MiB, beside the exchanges with models: these are held until the
        end, at about three times their size, as a session may go on anywhere in the file.
        """
        proxy = ProxyFile("entries", _LOST_REQUESTS, _LOST_ANSWERS)
        return proxy.traces(_records(file, proxy))


def _records(file: SourceFile, proxy: ProxyFile) -> Iterator[ProxyRecord]:
    try:
        with open_har(file) as har:
            yield from _entries(har, proxy)
    except DamagedDataError as error:
        yield Skipped("end of file", str(error))


def _entries(har: HarContent, proxy: ProxyFile) -> Iterator[ProxyRecord]:
    document = HarDocument(har.stream)
    proxy.source_version = _version(document.log)
    for element in document.entries():
        if isinstance(element, Skipped):
            yield element
            continue
        record = f"entry {element.number}"
        try:
            value = parse_json(element.raw)
        except NotJsonError as error:
            yield Skipped(record, str(error), error.offset, start=element.offset)
            continue
        entry = read_entry(value, record, har.body) if isinstance(value, dict) else None
        yield entry or Skipped(record, "the entry has no `request` with a `url`", start=element.offset)


def _version(log: JsonObject) -> str:
    """The format's version and who wrote it: `1.2 (mitmproxy 12.2.3)`."""
    creator = log.get("creator")
    by = f"{text_of(creator, 'name')} {text_of(creator, 'version')}".strip() if isinstance(creator, dict) else ""
    return f"{text_of(log, 'version')} ({by})" if by else text_of(log, "version")
