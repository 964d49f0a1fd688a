"""What the pages on SDKs tell a program to do are calls that the real SDKs have; stories record with the same ones."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.journeys.story import ROOT, SDKS, start_of_script, variables

_CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
_SDKS = {
    "anthropic": "anthropic_messages",
    "google-genai": "google_genai",
    "langchain": "langchain_openai_chat",
    "ollama": "ollama_chat",
    "openai": "openai_chat",
    "openai-agents": "openai_agents_run",
    "pydantic-ai": "pydantic_ai_agent",
}


def test_each_page_is_run() -> None:
    assert {page.stem for page in (ROOT / "docs" / "sdks").glob("*.md")} == set(_SDKS)
    assert set(_SDKS.values()) <= set(SDKS)


@pytest.mark.parametrize(
    ("name", "sdk"), [pytest.param(*each, marks=pytest.mark.xdist_group(each[1])) for each in _SDKS.items()]
)
def test_the_program_of_a_page_on_an_sdk_runs(name: str, sdk: str, tmp_path: Path) -> None:
    (code,) = _CODE.findall((ROOT / "docs" / "sdks" / f"{name}.md").read_text(encoding="utf-8"))
    script = tmp_path / "program.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run(
        start_of_script(sdk, script),
        cwd=tmp_path,
        env=variables(tmp_path),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
