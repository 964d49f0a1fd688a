"""A real Jupyter kernel shows values inline; `make test-notebooks` makes its environment."""

import json
import subprocess

import pytest

from tests.ui.conftest import ROOT

pytestmark = pytest.mark.slow

_PYTHON = ROOT / "build" / "notebooks" / "bin" / "python"
_TRACE = '<|im_start|>assistant\\n<tool_call>{"name": "f",}</tool_call>'
_CELLS = (
    f"import weaklink\ntrace = weaklink.read_transcript('{_TRACE}')\ntrace",
    "weaklink.inspect_trace(trace)",
    "weaklink.show(trace)",
    "for one in (trace, trace): weaklink.show(one)",
)
_RUN = """
import json, sys
import nbformat
from nbclient import NotebookClient
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in json.load(sys.stdin)])
NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
print(json.dumps([cell.outputs for cell in notebook.cells]))
"""


def test_a_kernel_shows_values_inline() -> None:
    assert _PYTHON.exists(), "Jupyter is not installed; `make build/notebooks/installed` installs it"
    done = subprocess.run(
        [_PYTHON, "-c", _RUN], input=json.dumps(_CELLS), capture_output=True, text=True, check=True, timeout=300
    )
    shown = [[one["data"]["text/html"] for one in outputs] for outputs in json.loads(done.stdout)]
    assert [len(one) for one in shown] == [1, 1, 1, 2]
    assert all(page.startswith("<div><iframe sandbox srcdoc=") for outputs in shown for page in outputs)
    assert all("J1" in page for outputs in shown for page in outputs)
