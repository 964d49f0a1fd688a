"""Makes the picture of docs/probe.md, `python -m tests.probe.pictures`: two endpoints, of which one changes numbers.

The servers are those of the tests: the same model behind a clean parser, and behind one that writes numbers as text.
"""

import asyncio
import io
import re
import sys

from msgspec import structs
from rich.console import Console
from rich.text import Text

from tests.probe.model_server import running
from tests.probe.test_planted_faults import BOTH_MODES
from tests.ui.conftest import ROOT
from weaklink.inspector.probe.builtin_suite import builtin_suite
from weaklink.inspector.probe.measures import compare_endpoints, measure
from weaklink.inspector.probe.results import ProbeRecord
from weaklink.inspector.probe.running import ProbedAnswer, ProbePlan, ProbeRun, endpoint_target
from weaklink.ui.cli.console import print_lines
from weaklink.ui.reports.probe_report import ProbeReport, comparison_lines, report_lines

_PICTURE = ROOT / "docs" / "pictures" / "probe.svg"
_WIDTH = 118
_FAULT = "numbers as text"
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # rich's pictures would fetch theirs from another machine


async def _records(*, is_faulty: bool) -> list[ProbeRecord]:
    answers: list[ProbedAnswer] = []
    async with running(BOTH_MODES[_FAULT][0] if is_faulty else None) as server:
        plan = ProbePlan(server.url, builtin_suite(), model="example", concurrency=1)
        await ProbeRun(plan, endpoint_target(server.url, {}), answers.extend).run()
    return [answer.record for answer in answers]


def _without_times(records: list[ProbeRecord], url: str) -> ProbeReport:
    """The report without times, which differ each time."""
    return ProbeReport(url, "example", tuple(records), structs.replace(measure(records), medians=()))


def main() -> None:
    """Make the picture anew."""
    clean, faulty = (asyncio.run(_records(is_faulty=is_faulty)) for is_faulty in (False, True))
    text = io.StringIO()
    print_lines(report_lines(_without_times(faulty, "http://b.example"), width=_WIDTH), color="always", stream=text)
    print_lines([(), *comparison_lines(compare_endpoints(clean, faulty), width=_WIDTH)], color="always", stream=text)
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text.getvalue()))
    _PICTURE.write_text(_FONTS.sub("", console.export_svg(title="weaklink probe", unique_id="probe")), encoding="utf-8")
    sys.stdout.write(f"{_PICTURE.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
