"""What a list says of a trace in words: its title, its status and its break."""

from inspector.chain.steps import Break, Status
from inspector.errors import UnknownRuleError
from inspector.rules.catalogue import find_rule
from storage import TraceSummary
from ui.views.status import DAMAGED, LIVENESS, UNNAMED, status_run
from ui.views.styled_text import Line, Run, Style, visible_line
from ui.views.trace import POSITION_IDS


def trace_title(summary: TraceSummary) -> str:
    """What a trace is known by: its name, else the user's first words, else an id of its source, else its file."""
    telling = (value for name, value in summary.external_ids.items() if name not in POSITION_IDS)
    file = summary.file.replace("\\", "/").rpartition("/")[2]
    known = (summary.name, summary.opening, next(telling, ""), f"{file} {summary.record}".strip())
    return next(filter(None, known), f"trace {summary.id}")


def listed_title(summary: TraceSummary, *, with_project: bool = True) -> str:
    """The title with what places the trace: what it is to its parent, its project and its branch."""
    parent = f"{summary.parent.why.value}: " if summary.parent is not None else ""
    project = project_words(summary.project, summary.branch) if with_project else ""
    return f"{parent}{trace_title(summary)}{project}"


def project_words(project: str, branch: str) -> str:
    """Project and branch behind a title: ` · weather (main)`; empty where neither is known."""
    words = " ".join(word for word in (project, f"({branch})" if branch else "") if word)
    return f" · {words}" if words else ""


def break_words(broken: Break) -> Line:
    """A break in short: `#2 J104 trailing-comma`."""
    try:
        what = str(find_rule(broken.code))
    except UnknownRuleError:
        what = broken.code
    tool = visible_line(broken.tool) if broken.tool else UNNAMED
    return (Run(f"#{broken.step} "), Run(what, Style.ERROR), Run(f" {tool}", Style.DIM))


def listed_status(summary: TraceSummary) -> Run:
    """What a list shows of how a trace ended, or that it has not, or that it is damaged."""
    if summary.damaged:
        return DAMAGED
    if summary.liveness is not None:
        return LIVENESS[summary.liveness]
    return status_run(Status(summary.status), summary.broken.outcome if summary.broken else None)
