"""LiteLLM's logs: a standard logging payload a request, and the rows of its table `LiteLLM_SpendLogs`.

Payloads come as lines (custom callbacks), as arrays (the generic API logger), and as one indented object a file (the
S3 and GCS loggers); SpendLogs as rows of a dump or of the proxy's own API. Both hold the request's parts and the answer
that LiteLLM assembled from its stream (docs.litellm.ai: proxy/logging_spec).
"""

from collections.abc import Iterator, Sequence
from functools import partial

from inspector.importers.gateway_tables import read_entries, rows_shown
from inspector.importers.gateway_values import entries_of
from inspector.importers.gateways import LoggedRequest, gathered, gathered_from
from inspector.importers.litellm_rows import logged_request
from inspector.importers.source import JsonObject, Sample, Skipped, SourceFile
from inspector.model import Trace

_ONLY_PAYLOADS = frozenset({"litellm_call_id", "status_fields", "model_map_information", "hidden_params"})
_SPEND = frozenset({"request_id", "call_type", "spend", "startTime"})


class LiteLlmImporter:
    """The sessions that its requests make up."""

    name = "litellm"
    signs = "LiteLLM's logging payloads, or rows of its SpendLogs"

    def recognises(self, sample: Sample) -> float:
        """By the keys that only a payload has beside its messages, or those of SpendLogs."""
        rows = (one for row in rows_shown(sample) for _, one in entries_of(_unwrapped(row)))
        return 0.95 if any(map(_is_ours, rows)) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The traces, behind the rows that are none."""
        return gathered(_logged(file, set()))

    def read_together(self, files: Sequence[SourceFile]) -> Iterator[Trace | Skipped]:
        """The same of several files, whose requests may belong to the same sessions."""
        return gathered_from(files, partial(_logged, seen=set()), self.name)


def _logged(file: SourceFile, seen: set[tuple[str, ...]]) -> Iterator[LoggedRequest | Skipped]:
    """The requests of a file; `seen` are the keys of those that were read already."""
    for row in read_entries(file):
        if isinstance(row, Skipped):
            yield row
            continue
        for place, value in entries_of(_unwrapped(row.value)):
            record = f"{row.record}{place}"
            if not _is_ours(value):
                yield Skipped(record, "this is neither a standard logging payload of LiteLLM nor a SpendLogs row")
            elif (key := _key(value)) in seen:
                yield Skipped(record, f"the request `{key[0][:80]}` is logged twice", is_irrelevant=True)
            else:
                seen.update([key] if key[0] else [])
                yield logged_request(value, record)


def _unwrapped(value: JsonObject) -> JsonObject:
    """The payload within the arguments of a callback, which some write down whole."""
    held = value.get("standard_logging_object")
    return held if isinstance(held, dict) else value


def _is_ours(value: JsonObject) -> bool:
    is_payload = "messages" in value and "response" in value and not _ONLY_PAYLOADS.isdisjoint(value)
    return is_payload or value.keys() >= _SPEND


def _key(value: JsonObject) -> tuple[str, ...]:
    """What two records of one request have in common, and those of a retry do not."""
    ids = (value.get("litellm_call_id"), value.get("id", value.get("request_id")))
    return tuple(str(one or "") for one in (*ids, value.get("startTime"), value.get("status")))
