"""The list of importers: the built-in ones as a tuple, and those of plug-ins from an entry point."""

from functools import cache

from inspector.importers.agents.claude_code import ClaudeCodeImporter
from inspector.importers.agents.claude_code_output import ClaudeCodeOutputImporter
from inspector.importers.agents.codex import CodexImporter
from inspector.importers.agents.codex_output import CodexOutputImporter
from inspector.importers.agents.hermes_sessions import HermesSessionsImporter
from inspector.importers.agents.llm import LlmDatabaseImporter
from inspector.importers.agents.openhands import OpenHandsImporter
from inspector.importers.agents.swe_agent import MiniSweAgentImporter, SweAgentImporter
from inspector.importers.benchmarks.bfcl import BfclImporter
from inspector.importers.benchmarks.harbor_atif import HarborAtifImporter
from inspector.importers.benchmarks.inspect_log import InspectImporter
from inspector.importers.benchmarks.tau_bench import Tau2BenchImporter, TauBenchImporter
from inspector.importers.data.atropos import AtroposImporter
from inspector.importers.data.openai_messages import OpenAiMessagesImporter
from inspector.importers.data.raw_text import CompletionsImporter, RawTextImporter
from inspector.importers.data.sharegpt import ShareGptImporter
from inspector.importers.data.trace_files import TraceFileImporter
from inspector.importers.data.training_rows import TrainingDataImporter
from inspector.importers.gateways.helicone import HELICONE
from inspector.importers.gateways.litellm import LITELLM
from inspector.importers.gateways.openrouter import OPENROUTER
from inspector.importers.gateways.portkey import PORTKEY
from inspector.importers.proxies.har import HarImporter
from inspector.importers.proxies.mitmproxy import MitmproxyImporter
from inspector.importers.servers.api_captures import ApiCapturesImporter, ChatCompletionsImporter
from inspector.importers.servers.served_completions import SglangLogImporter, VllmLogImporter
from inspector.importers.source import Importer
from inspector.importers.telemetry.langfuse import LangfuseImporter
from inspector.importers.telemetry.langsmith import LangSmithImporter
from inspector.importers.telemetry.otlp import OtlpImporter
from inspector.importers.telemetry.phoenix import PhoenixImporter
from inspector.plugins import entry_points_of

ENTRY_POINT_GROUP = "weaklink.importers"
"""The group of entry points; each names an Importer."""

_BUILT_IN: tuple[Importer, ...] = (
    TraceFileImporter(),
    ShareGptImporter(),
    OpenAiMessagesImporter(),
    ChatCompletionsImporter(),
    ApiCapturesImporter(),
    BfclImporter(),
    ClaudeCodeImporter(),
    ClaudeCodeOutputImporter(),
    CodexImporter(),
    CodexOutputImporter(),
    SweAgentImporter(),
    MiniSweAgentImporter(),
    HarborAtifImporter(),
    OpenHandsImporter(),
    LangfuseImporter(),
    LangSmithImporter(),
    LlmDatabaseImporter(),
    HermesSessionsImporter(),
    MitmproxyImporter(),
    HarImporter(),
    LITELLM,
    HELICONE,
    PORTKEY,
    OPENROUTER,
    TauBenchImporter(),
    Tau2BenchImporter(),
    InspectImporter(),
    AtroposImporter(),
    VllmLogImporter(),
    SglangLogImporter(),
    OtlpImporter(),
    PhoenixImporter(),
    TrainingDataImporter(),
    CompletionsImporter(),
    RawTextImporter(),
)


def importers() -> tuple[Importer, ...]:
    """Every importer: the built-in ones, then plug-ins. Of two with equal confidence the first reads the file."""
    return (*_BUILT_IN, *_plugged_in())


def source_names() -> tuple[str, ...]:
    """The names that `--source` takes."""
    return tuple(known.name for known in importers())


@cache
def _plugged_in() -> tuple[Importer, ...]:
    return tuple(point.load() for point in entry_points_of(ENTRY_POINT_GROUP))
