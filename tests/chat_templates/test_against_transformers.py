"""Published chat templates render as `transformers` renders them: `make test-chat-templates`.

The templates are those that llama-cpp-python and trl ship. The rows are made-up conversations in TRL's layout, as for
`weaklink data render --chat-template`. A row that a template refuses must be refused by both.
"""

import os
import re
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from benchmarks.training_rows import training_rows
from weaklink.inspector.chat_templates.files import read_chat_template
from weaklink.inspector.chat_templates.renderer import render_all
from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.rendering import RowLayout, render_sample, template_context
from weaklink.inspector.dataset.samples import read_sample
from weaklink.inspector.model import Json

FOLDER = Path(os.environ.get("WEAKLINK_TEMPLATES", Path(__file__).parents[2] / "build" / "chat-templates"))
TEMPLATES = sorted(FOLDER.rglob("*.jinja"))
ROWS = 24

pytestmark = pytest.mark.skipif(
    find_spec("transformers") is None or not TEMPLATES,
    reason="no transformers or no templates: make test-chat-templates",
)


def contexts() -> Iterator[dict[str, Json]]:
    """The variables of the rows; every other row also has a system prompt."""
    for number, row in enumerate(islice(training_rows(ROWS, 5), ROWS)):
        sample = read_sample(DataRow("a.jsonl", f"line {number + 1}", number + 1, row))
        for rendered in render_sample(sample, (), layout=RowLayout.TRL):
            context = template_context(rendered.value)
            messages: Any = context["messages"]
            if number % 2 and messages[0]["role"] != "system":
                messages = [{"role": "system", "content": "You help."}, *messages]
            yield {**context, "messages": messages}


def transformers_renders(source: str, rows: list[dict[str, Any]]) -> list[str | None]:
    """The text of each row by `apply_chat_template`; None for one that the template refuses."""
    kit, errors = import_module("tokenizers"), import_module("jinja2").TemplateError
    tokenizer = import_module("transformers").PreTrainedTokenizerFast(
        tokenizer_object=kit.Tokenizer(kit.models.WordLevel({"a": 0}, unk_token="a")), bos_token="<s>", eos_token="</s>"
    )
    found: list[str | None] = []
    for row in rows:
        try:
            text = tokenizer.apply_chat_template(
                row["messages"], tools=row["tools"], chat_template=source, tokenize=False, add_generation_prompt=False
            )
        except (errors, TypeError, ValueError, KeyError, AttributeError):
            text = None
        found.append(text)
    return found


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: re.sub(r"\W+", "-", "/".join(path.parts[-2:])))
def test_a_published_template_renders_as_transformers_does(path: Path) -> None:
    rows = list(contexts())
    template = structs.replace(read_chat_template(path), special_tokens={"bos_token": "<s>", "eos_token": "</s>"})
    ours = [one.text if not one.error else None for one in render_all(template, rows)]
    theirs = transformers_renders(path.read_text(encoding="utf-8"), rows)
    different = [number for number, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other]
    assert not different, (different, ours[different[0]], theirs[different[0]])
