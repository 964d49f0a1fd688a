"""mitmproxy's flow files, of format version 18 and later, read one flow after another.

A flow holds a request and its answer with their bodies as they were sent, still encoded, and the times of their
beginnings and ends. No piece of an answer has a time. Of an answer that broke off mitmproxy keeps nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from inspector.importers.exchanges import OtherTraffic, ProxyFile, ProxyRecord, SeenExchange
from inspector.importers.mitmproxy_cutting import FlowCutter
from inspector.importers.mitmproxy_flow import NEWEST_VERSION, OLDEST_VERSION, MitmproxyFlow, read_flow
from inspector.importers.packing import DamagedDataError
from inspector.importers.source import Sample, Skipped, SourceFile
from inspector.model import Trace

_BLOCK = 1 << 16  # what is lost where packed data breaks
_FIRST_KEYS = re.compile(
    rb"\d{1,12}:\d{1,2}:(?:backup|client_conn|comment|error|id|intercepted|is_replay|marked|messages|metadata|mode"
    rb"|request|response|server_conn|timestamp_created|type|version|websocket)[,;]"
)
_NO_TIMES = "mitmproxy keeps no times of chunks: an answer has a beginning and an end"
_LOST_ANSWERS = (
    "mitmproxy did not keep the body of an answer: it drops those that broke off or had not ended, and with"
    " `stream_large_bodies` all"
)
_LOST_REQUESTS = "mitmproxy did not keep the request's body (`stream_large_bodies` without `store_streamed_bodies`)"
_TOO_OLD = (
    f"an older mitmproxy wrote them, in a format before {OLDEST_VERSION}: "
    "`mitmdump --no-server --rfile OLD --save-stream-file NEW` of today's mitmproxy writes them anew"
)


class MitmproxyImporter:
    """The traces that a file's exchanges with models make up."""

    name = "mitmproxy"
    signs = "a flow in mitmproxy's own notation, with its `version`"

    def recognises(self, sample: Sample) -> float:
        """By a tnetstring that is a dictionary and begins with a member of a flow."""
        return 1.0 if _FIRST_KEYS.match(sample.head) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The traces; what is cut off or damaged, and once, counted, what is no exchange with a model.

        One flow at a time is in memory, of at most 64 MiB, beside the exchanges with models: these are held until the
        end, at about three times their size, as a session may go on anywhere in the file.
        """
        proxy = ProxyFile("flows", _LOST_REQUESTS, _LOST_ANSWERS, warnings=[_NO_TIMES])
        return proxy.traces(_records(file, proxy))


def _records(file: SourceFile, proxy: ProxyFile) -> Iterator[ProxyRecord]:
    too_old = newest = 0
    cutter = FlowCutter()
    for number, raw in _cut(file, cutter):
        flow = raw if isinstance(raw, Skipped) else read_flow(raw, number)
        if not isinstance(flow, MitmproxyFlow):
            yield replace(flow, start=cutter.starts[number - 1]) if number else flow
        elif flow.content is None:
            too_old += 1
        else:
            newest = max(newest, flow.version)
            proxy.source_version = str(newest)
            yield flow.content if isinstance(flow.content, OtherTraffic) else SeenExchange(flow.content)
    if newest > NEWEST_VERSION:
        proxy.warnings.append(f"flows of format {newest} were read as those of format {NEWEST_VERSION}")
    if too_old:
        yield Skipped(f"{too_old} of the flows", _TOO_OLD)


def _cut(file: SourceFile, cutter: FlowCutter) -> Iterator[tuple[int, bytes | Skipped]]:
    """The flows with their numbers; 0 for what is wrong with the file as a whole."""
    number = 0
    try:
        with file.open() as stream:
            while block := stream.read(_BLOCK):
                for found in cutter.feed(block):
                    number += 1
                    yield number, found
    except DamagedDataError as error:
        yield 0, Skipped("end of file", str(error))
    for found in cutter.close():
        yield cutter.number, found
