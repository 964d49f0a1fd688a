"""The list of importers: the built-in ones as a tuple, and those of plug-ins from an entry point."""

from functools import cache
from importlib.metadata import entry_points

from weaklink.inspector.importers.agents.aider import AIDER
from weaklink.inspector.importers.agents.chat_programs import CHATGPT_EXPORT, LM_STUDIO
from weaklink.inspector.importers.agents.claude_code import CLAUDE_CODE
from weaklink.inspector.importers.agents.claude_code_output import CLAUDE_CODE_OUTPUT
from weaklink.inspector.importers.agents.cline import CLINE
from weaklink.inspector.importers.agents.codex import CODEX
from weaklink.inspector.importers.agents.codex_output import CODEX_OUTPUT
from weaklink.inspector.importers.agents.continue_dev import CONTINUE
from weaklink.inspector.importers.agents.copilot_chat import COPILOT_CHAT
from weaklink.inspector.importers.agents.copilot_cli import COPILOT_CLI
from weaklink.inspector.importers.agents.crush import CRUSH
from weaklink.inspector.importers.agents.cursor import CURSOR
from weaklink.inspector.importers.agents.cursor_cli import CURSOR_CLI
from weaklink.inspector.importers.agents.droid import AMP, DROID
from weaklink.inspector.importers.agents.gemini_cli import GEMINI_CLI
from weaklink.inspector.importers.agents.goose import GOOSE
from weaklink.inspector.importers.agents.hermes_sessions import HERMES_SESSIONS
from weaklink.inspector.importers.agents.kimi import KIMI
from weaklink.inspector.importers.agents.llm import LLM_DATABASE
from weaklink.inspector.importers.agents.open_webui import OPEN_WEBUI
from weaklink.inspector.importers.agents.openclaw import OPENCLAW
from weaklink.inspector.importers.agents.openclaw_trajectory import OPENCLAW_TRAJECTORY
from weaklink.inspector.importers.agents.opencode import OPENCODE
from weaklink.inspector.importers.agents.openhands import OPENHANDS
from weaklink.inspector.importers.agents.openhands_sdk import OPENHANDS_SDK
from weaklink.inspector.importers.agents.pi import PI
from weaklink.inspector.importers.agents.qwen_code import QWEN_CODE
from weaklink.inspector.importers.agents.strands import STRANDS
from weaklink.inspector.importers.agents.swe_agent import MINI_SWE_AGENT, SWE_AGENT
from weaklink.inspector.importers.agents.zed import ZED
from weaklink.inspector.importers.benchmarks.bfcl import BFCL
from weaklink.inspector.importers.benchmarks.harbor_atif import HARBOR_ATIF
from weaklink.inspector.importers.benchmarks.inspect_log import INSPECT
from weaklink.inspector.importers.benchmarks.tau2_bench import TAU2_BENCH
from weaklink.inspector.importers.benchmarks.tau_bench import TAU_BENCH
from weaklink.inspector.importers.benchmarks.who_and_when import WHO_AND_WHEN
from weaklink.inspector.importers.data.atropos import ATROPOS
from weaklink.inspector.importers.data.message_dumps import MESSAGE_DUMPS
from weaklink.inspector.importers.data.openai_messages import OPENAI_MESSAGES
from weaklink.inspector.importers.data.raw_text import COMPLETIONS, RAW_TEXT
from weaklink.inspector.importers.data.sharegpt import SHAREGPT
from weaklink.inspector.importers.data.trace_files import TRACE_FILES
from weaklink.inspector.importers.data.training_rows import TRAINING_DATA
from weaklink.inspector.importers.gateways.helicone import HELICONE
from weaklink.inspector.importers.gateways.litellm import LITELLM
from weaklink.inspector.importers.gateways.openrouter import OPENROUTER
from weaklink.inspector.importers.gateways.portkey import PORTKEY
from weaklink.inspector.importers.proxies.cassettes import VCR
from weaklink.inspector.importers.proxies.har import HAR
from weaklink.inspector.importers.proxies.mitmproxy import MITMPROXY
from weaklink.inspector.importers.servers.api_captures import API_CAPTURES, CHAT_COMPLETIONS
from weaklink.inspector.importers.servers.batch_files import BatchImporter
from weaklink.inspector.importers.servers.served_completions import SGLANG, VLLM
from weaklink.inspector.importers.servers.verifier_results import VERIFIER_RESULTS
from weaklink.inspector.importers.source import Importer
from weaklink.inspector.importers.telemetry.langfuse import LANGFUSE
from weaklink.inspector.importers.telemetry.langsmith import LANGSMITH
from weaklink.inspector.importers.telemetry.mlflow import MLFLOW
from weaklink.inspector.importers.telemetry.otlp import OTLP
from weaklink.inspector.importers.telemetry.phoenix import PHOENIX

ENTRY_POINT_GROUP = "weaklink.importers"
"""The group of entry points; each names an Importer."""

_BUILT_IN: tuple[Importer, ...] = (
    TRACE_FILES,
    SHAREGPT,
    OPENAI_MESSAGES,
    MESSAGE_DUMPS,
    CHAT_COMPLETIONS,
    API_CAPTURES,
    VERIFIER_RESULTS,
    BatchImporter(),
    BFCL,
    PI,
    OPENCLAW,
    OPENCLAW_TRAJECTORY,
    GEMINI_CLI,
    OPENCODE,
    COPILOT_CLI,
    COPILOT_CHAT,
    QWEN_CODE,
    CLINE,
    CONTINUE,
    GOOSE,
    CURSOR,
    CURSOR_CLI,
    ZED,
    AIDER,
    CRUSH,
    KIMI,
    DROID,
    AMP,
    CHATGPT_EXPORT,
    LM_STUDIO,
    OPEN_WEBUI,
    CLAUDE_CODE,
    CLAUDE_CODE_OUTPUT,
    CODEX,
    CODEX_OUTPUT,
    SWE_AGENT,
    MINI_SWE_AGENT,
    HARBOR_ATIF,
    OPENHANDS,
    OPENHANDS_SDK,
    STRANDS,
    LANGFUSE,
    LANGSMITH,
    LLM_DATABASE,
    HERMES_SESSIONS,
    MITMPROXY,
    HAR,
    VCR,
    LITELLM,
    HELICONE,
    PORTKEY,
    OPENROUTER,
    TAU_BENCH,
    TAU2_BENCH,
    INSPECT,
    WHO_AND_WHEN,
    ATROPOS,
    VLLM,
    SGLANG,
    OTLP,
    PHOENIX,
    MLFLOW,
    TRAINING_DATA,
    COMPLETIONS,
    RAW_TEXT,
)


def importers() -> tuple[Importer, ...]:
    """Every importer: the built-in ones, then plug-ins. Of two with equal confidence the first reads the file."""
    return (*_BUILT_IN, *_plugged_in())


def source_names() -> tuple[str, ...]:
    """The names that `--source` takes."""
    return tuple(known.name for known in importers())


@cache
def _plugged_in() -> tuple[Importer, ...]:
    return tuple(point.load() for point in entry_points(group=ENTRY_POINT_GROUP))
