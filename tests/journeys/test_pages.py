"""What the pages on SDKs tell a program to do are calls that the real SDKs have; stories record with the same ones."""

import re
import subprocess
from pathlib import Path

from tests.journeys.story import PYTHON, ROOT, variables

_CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
_RUN_EACH = "import sys\nfor path in sys.argv[1:]:\n    exec(compile(open(path).read(), path, 'exec'), {})\n"


def test_the_programs_of_the_pages_on_sdks_run(tmp_path: Path) -> None:
    pages = sorted((ROOT / "docs" / "sdks").glob("*.md"))
    assert len(pages) == 7
    scripts = [tmp_path / f"{page.stem}.txt" for page in pages]
    for page, script in zip(pages, scripts, strict=True):
        (code,) = _CODE.findall(page.read_text(encoding="utf-8"))
        script.write_text(code, encoding="utf-8")
    done = subprocess.run(
        [PYTHON, "-c", _RUN_EACH, *map(str, scripts)],
        cwd=tmp_path,
        env=variables(tmp_path),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
