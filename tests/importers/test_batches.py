"""Batch files: a request and its result are one trace, whatever the order of rows and files."""

import json
from pathlib import Path

from weaklink.inspector.importers.reading import group_files, read_group
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.model import Role, Trace

CASES = Path(__file__).parents[1] / "cases" / "importers" / "batch"


def joined(*paths: Path) -> list[Trace | Skipped]:
    (group,) = group_files([str(path) for path in paths])
    return list(read_group(group.paths, "batch"))


def test_requests_and_results_of_several_files_are_joined_by_their_id() -> None:
    found = joined(CASES / "openai-output.jsonl", CASES / "openai-input.jsonl")
    (whole,) = (trace for trace in found if isinstance(trace, Trace) and len(trace.turns) == 2)
    user, answer = whole.turns
    assert (user.parts[0].text, answer.parts[0].text) == ("Which port does the harbour office use?", '{"path": 5')
    assert answer.generation is not None
    assert [tool.name for tool in answer.generation.tools] == ["read_file"]
    assert answer.generation.parameters == '{"temperature":0.6}'
    assert whole.provenance.file.endswith("input.jsonl")
    skipped = [record for record in found if isinstance(record, Skipped)]
    assert {Path(record.file).name for record in skipped} == {"openai-input.jsonl", "openai-output.jsonl"}


def test_anthropics_requests_have_their_results() -> None:
    found = joined(CASES / "anthropic-input.jsonl", CASES / "anthropic-results.jsonl")
    roles = [[turn.role for turn in trace.turns] for trace in found if isinstance(trace, Trace)]
    assert roles == [[Role.SYSTEM, Role.USER, Role.ASSISTANT], [Role.ASSISTANT], [Role.ASSISTANT]]


def test_rows_of_two_batches_with_the_same_ids_are_not_joined(tmp_path: Path) -> None:
    request = {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions"}
    rows = [json.dumps({**request, "body": {"messages": [{"role": "user", "content": word}]}}) for word in "ab"]
    result = json.dumps({"id": "x", "custom_id": "1", "response": None, "error": {"message": "expired"}})
    paths = [tmp_path / "input", tmp_path / "output"]
    for path, lines in zip(paths, (rows, [result]), strict=True):
        path.write_text("\n".join(lines))
    found = [trace for trace in joined(*paths) if isinstance(trace, Trace)]
    assert [[turn.role for turn in trace.turns] for trace in found] == [[Role.USER], [Role.USER], [Role.ASSISTANT]]
    assert len({trace.external_ids for trace in found}) == 3
