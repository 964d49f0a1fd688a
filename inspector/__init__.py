"""weaklink's core: finds the link where an agent's tool chain broke. `__all__` lists the public names.

Names are imported at their first use (PEP 562), so that a command which needs one module does not import all.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from weaklink.inspector.version import __version__

if TYPE_CHECKING:
    from weaklink.inspector.capture.client_recording import record, recorded, unrecord
    from weaklink.inspector.capture.logger import TraceLogger
    from weaklink.inspector.dataset.candidates import CandidateReading, VerifierInput
    from weaklink.inspector.dataset.reward import (
        ListRewardFunction,
        RewardFunction,
        ScoreFunction,
        atropos_reward,
        reward,
        trl_reward,
        verify,
        verl_reward,
    )
    from weaklink.inspector.dataset.verifiers import UnknownVerifierError, Verifier, VerifierVerdict
    from weaklink.inspector.diagnostics import Diagnostic, Fault, Fix, Location, apply_fixes
    from weaklink.inspector.errors import (
        InvalidPatternError,
        StoreError,
        UnknownFormatError,
        UnknownRuleError,
        UnreadableFileError,
        WeaklinkError,
    )
    from weaklink.inspector.facade import BaseParser, ToolCallParser, make_call, write_calls
    from weaklink.inspector.formats.detection import Detection, detect_format
    from weaklink.inspector.formats.registry import register_format
    from weaklink.inspector.formats.templates.chatml import render_prompt
    from weaklink.inspector.formats.transcript import read_transcript
    from weaklink.inspector.inspected import Inspection
    from weaklink.inspector.inspection import inspect_trace
    from weaklink.inspector.model import (
        Chunk,
        Generation,
        Part,
        Role,
        Span,
        SpanKind,
        ToolCall,
        ToolDefinition,
        ToolResult,
        Trace,
        Turn,
    )
    from weaklink.inspector.segmentation import Segmentation, Segmenter, segment
    from weaklink.inspector.showing import show
    from weaklink.inspector.trace_file import read_trace_file, write_trace_file

__all__ = [
    "BaseParser",
    "CandidateReading",
    "Chunk",
    "Detection",
    "Diagnostic",
    "Fault",
    "Fix",
    "Generation",
    "Inspection",
    "InvalidPatternError",
    "ListRewardFunction",
    "Location",
    "Part",
    "RewardFunction",
    "Role",
    "ScoreFunction",
    "Segmentation",
    "Segmenter",
    "Span",
    "SpanKind",
    "StoreError",
    "ToolCall",
    "ToolCallParser",
    "ToolDefinition",
    "ToolResult",
    "Trace",
    "TraceLogger",
    "Turn",
    "UnknownFormatError",
    "UnknownRuleError",
    "UnknownVerifierError",
    "UnreadableFileError",
    "Verifier",
    "VerifierInput",
    "VerifierVerdict",
    "WeaklinkError",
    "__version__",
    "apply_fixes",
    "atropos_reward",
    "detect_format",
    "inspect_trace",
    "make_call",
    "read_trace_file",
    "read_transcript",
    "record",
    "recorded",
    "register_format",
    "render_prompt",
    "reward",
    "segment",
    "show",
    "trl_reward",
    "unrecord",
    "verify",
    "verl_reward",
    "write_calls",
    "write_trace_file",
]

_HOMES = {
    "weaklink.inspector.capture.client_recording": ("record", "recorded", "unrecord"),
    "weaklink.inspector.capture.logger": ("TraceLogger",),
    "weaklink.inspector.dataset.candidates": ("VerifierInput", "CandidateReading"),
    "weaklink.inspector.dataset.reward": (
        "ListRewardFunction",
        "RewardFunction",
        "ScoreFunction",
        "atropos_reward",
        "reward",
        "trl_reward",
        "verify",
        "verl_reward",
    ),
    "weaklink.inspector.dataset.verifiers": ("UnknownVerifierError", "VerifierVerdict", "Verifier"),
    "weaklink.inspector.diagnostics": ("Diagnostic", "Fault", "Fix", "Location", "apply_fixes"),
    "weaklink.inspector.errors": (
        "InvalidPatternError",
        "StoreError",
        "UnknownFormatError",
        "UnknownRuleError",
        "UnreadableFileError",
        "WeaklinkError",
    ),
    "weaklink.inspector.facade": ("BaseParser", "ToolCallParser", "make_call", "write_calls"),
    "weaklink.inspector.formats.templates.chatml": ("render_prompt",),
    "weaklink.inspector.formats.detection": ("Detection", "detect_format"),
    "weaklink.inspector.formats.registry": ("register_format",),
    "weaklink.inspector.formats.transcript": ("read_transcript",),
    "weaklink.inspector.inspected": ("Inspection",),
    "weaklink.inspector.inspection": ("inspect_trace",),
    "weaklink.inspector.model": (
        "Chunk",
        "Generation",
        "Part",
        "Role",
        "Span",
        "SpanKind",
        "ToolCall",
        "ToolDefinition",
        "ToolResult",
        "Trace",
        "Turn",
    ),
    "weaklink.inspector.segmentation": ("Segmentation", "Segmenter", "segment"),
    "weaklink.inspector.showing": ("show",),
    "weaklink.inspector.trace_file": ("read_trace_file", "write_trace_file"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def _attribute(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return value


def _public() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # with __getattr__, a type checker would accept any name
    __getattr__, __dir__ = _attribute, _public
