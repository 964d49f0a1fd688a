"""What docs/annotations.md says of annotations is true of those of the sample traces."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it has no types
import pytest

from weaklink.inspector.exporters.annotation import annotation
from weaklink.inspector.exporters.annotation_decisions import Action
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.inspection import inspect_trace

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "annotations.md"
SHOWN = re.compile(r"(<!-- ([\w-]+) (\w+) (\d+) -->\n```json\n)(.*?)(```\n)", re.DOTALL)
SCHEMA = re.compile(r"## The schema\n\n```json\n(.*?)```\n", re.DOTALL)


def annotations_of(path: Path) -> Iterator[dict[str, Any]]:
    for record in read_source(path).records:
        assert not isinstance(record, Skipped)
        yield annotation(record, inspect_trace(record))


def test_its_examples_are_what_the_command_writes(update_goldens: bool) -> None:
    def shown(match: re.Match[str]) -> str:
        (annotations,) = annotations_of(ROOT / "sample_traces" / f"{match[2]}.jsonl")
        return f"{match[1]}{json.dumps(annotations[match[3]][int(match[4])], indent=2)}\n{match[6]}"

    text = PAGE.read_text(encoding="utf-8")
    true = SHOWN.sub(shown, text)
    if update_goldens:
        PAGE.write_text(true, encoding="utf-8")
    assert len(SHOWN.findall(text)) == 2
    mend = "`make test ARGS='tests/exporters/test_annotation_page.py --update-goldens'` mends it"
    assert PAGE.read_text(encoding="utf-8") == true, mend


@pytest.mark.one_in(3)
@pytest.mark.parametrize("path", sorted((ROOT / "sample_traces").glob("*.*l")), ids=lambda path: path.stem)
def test_its_schema_holds_for_every_sample_trace(path: Path) -> None:
    match = SCHEMA.search(PAGE.read_text(encoding="utf-8"))
    assert match is not None
    schema = json.loads(match[1])
    jsonschema.Draft202012Validator.check_schema(schema)
    for document in annotations_of(path):
        jsonschema.validate(document, schema)


def test_it_lists_every_action() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("| action |")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [action.value for action in Action]
