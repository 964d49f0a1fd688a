"""What traces, inspections and segmentations show in notebooks, and what `weaklink.show` prints elsewhere."""

import html
import json
import re
from pathlib import Path

import pytest

import weaklink
from weaklink.inspector import Trace, inspect_trace, read_transcript, segment
from weaklink.ui.reports import notebook_page

_CALL = '<tool_call>{"name": "f", "arguments": {"a": 1,}}</tool_call>'
_HOSTILE = '<script>alert(1)</script>" onload="x'


def _trace(words: str = "Hi") -> Trace:
    return read_transcript(f"<|im_start|>user\n{words}<|im_end|>\n<|im_start|>assistant\n{_CALL}<|im_end|>")


def _page(shown: str | None) -> str:
    """The page in a frame, which must be all that the output has."""
    assert shown is not None
    match = re.fullmatch(r'<div><iframe sandbox srcdoc="([^"]*)" style="[^"]*"></iframe></div>', shown)
    assert match is not None
    return html.unescape(match[1])


def test_each_value_draws_its_verdict() -> None:
    trace = _trace()
    for value in (trace, inspect_trace(trace), segment(_CALL, "hermes")):
        page = _page(value._repr_html_())
        assert "J104" in page
        assert "broken" in page
        assert "default-src 'none'" in page


def test_hostile_text_stays_text() -> None:
    page = _page(_trace(_HOSTILE)._repr_html_())
    assert "<script" not in page
    assert html.escape(_HOSTILE) in page


def test_a_page_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook_page, "MAX_PAGE_CHARACTERS", 1_000)
    assert "too many for a notebook" in (_trace()._repr_html_() or "")
    monkeypatch.undo()
    assert len(_trace("long " * 1_000_000)._repr_html_() or "") < 3_000_000


def test_show_prints_outside_of_a_notebook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weaklink.show(_CALL, format="hermes")
    assert "J104" in capsys.readouterr().out
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps({"text": _CALL}) + "\n" for _ in range(25)), encoding="utf-8")
    weaklink.show(path)
    assert "25 traces; the first 20 are shown." in capsys.readouterr().out
    with pytest.raises(TypeError, match="expected a Trace"):
        weaklink.show(3)  # type: ignore[arg-type]
