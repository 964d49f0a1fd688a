"""The importers there are: written out as a tuple, and those that plug-ins bring through an entry point."""

from functools import cache
from importlib.metadata import entry_points

from inspector.importers.api_captures import ApiCapturesImporter
from inspector.importers.atropos import AtroposImporter
from inspector.importers.bfcl import BfclImporter
from inspector.importers.chat_completions import ChatCompletionsImporter
from inspector.importers.claude_code import ClaudeCodeImporter
from inspector.importers.claude_code_output import ClaudeCodeOutputImporter
from inspector.importers.codex import CodexImporter
from inspector.importers.codex_output import CodexOutputImporter
from inspector.importers.completions import CompletionsImporter
from inspector.importers.har import HarImporter
from inspector.importers.harbor_atif import HarborAtifImporter
from inspector.importers.helicone import HeliconeImporter
from inspector.importers.hermes_sessions import HermesSessionsImporter
from inspector.importers.inspect_log import InspectImporter
from inspector.importers.langfuse import LangfuseImporter
from inspector.importers.langsmith import LangSmithImporter
from inspector.importers.litellm import LiteLlmImporter
from inspector.importers.llm_database import LlmDatabaseImporter
from inspector.importers.mini_swe_agent import MiniSweAgentImporter
from inspector.importers.mitmproxy import MitmproxyImporter
from inspector.importers.openai_messages import OpenAiMessagesImporter
from inspector.importers.openhands import OpenHandsImporter
from inspector.importers.openrouter import OpenRouterImporter
from inspector.importers.otlp import OtlpImporter
from inspector.importers.phoenix import PhoenixImporter
from inspector.importers.portkey import PortkeyImporter
from inspector.importers.raw_text import RawTextImporter
from inspector.importers.sglang_log import SglangLogImporter
from inspector.importers.sharegpt import ShareGptImporter
from inspector.importers.source import Importer
from inspector.importers.swe_agent import SweAgentImporter
from inspector.importers.tau2_bench import Tau2BenchImporter
from inspector.importers.tau_bench import TauBenchImporter
from inspector.importers.trace_files import TraceFileImporter
from inspector.importers.vllm_log import VllmLogImporter

ENTRY_POINT_GROUP = "weaklink.importers"
"""Entry points of this group name an Importer each."""

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
    LiteLlmImporter(),
    HeliconeImporter(),
    PortkeyImporter(),
    OpenRouterImporter(),
    TauBenchImporter(),
    Tau2BenchImporter(),
    InspectImporter(),
    AtroposImporter(),
    VllmLogImporter(),
    SglangLogImporter(),
    OtlpImporter(),
    PhoenixImporter(),
    CompletionsImporter(),
    RawTextImporter(),
)


def importers() -> tuple[Importer, ...]:
    """Every importer: the built-in ones, then plug-ins. Of two that are equally sure the first reads the file."""
    return (*_BUILT_IN, *_plugged_in())


def source_names() -> tuple[str, ...]:
    """The names that `--source` takes."""
    return tuple(known.name for known in importers())


@cache
def _plugged_in() -> tuple[Importer, ...]:
    return tuple(point.load() for point in entry_points(group=ENTRY_POINT_GROUP))
