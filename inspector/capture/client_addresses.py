"""The environment variables that point clients of model APIs at a proxy, and the addresses that they use without it."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct

from inspector.capture.proxy.config import Upstream, parse_upstream
from inspector.capture.proxy.server import BoundAddress


class ClientVariable(Struct, frozen=True):
    """An environment variable that points clients at a server, and the address that they use without it."""

    name: str
    prefix: str
    default: str


# Which clients read them: openai and its Node and Go clients, anthropic (all three), ollama, google-genai and groq read
# the variable of their name; LiteLLM reads OPENAI_API_BASE, ANTHROPIC_API_BASE, OLLAMA_API_BASE and
# OPENROUTER_API_BASE.
CLIENT_VARIABLES = (
    ClientVariable("OPENAI_BASE_URL", "openai", "https://api.openai.com/v1"),
    ClientVariable("OPENAI_API_BASE", "openai", "https://api.openai.com/v1"),
    ClientVariable("ANTHROPIC_BASE_URL", "anthropic", "https://api.anthropic.com"),
    ClientVariable("ANTHROPIC_API_BASE", "anthropic", "https://api.anthropic.com"),
    ClientVariable("OLLAMA_HOST", "ollama", "http://127.0.0.1:11434"),
    ClientVariable("OLLAMA_API_BASE", "ollama", "http://127.0.0.1:11434"),
    ClientVariable("GOOGLE_GEMINI_BASE_URL", "gemini", "https://generativelanguage.googleapis.com"),
    ClientVariable("GROQ_BASE_URL", "groq", "https://api.groq.com"),
    ClientVariable("OPENROUTER_API_BASE", "openrouter", "https://openrouter.ai/api/v1"),
)


def routes(variables: Mapping[str, str], upstream: str | None) -> tuple[dict[str, str], tuple[Upstream, ...]]:
    """The path below the proxy for each client variable, and the upstreams of these paths.

    A client goes to `upstream` if it is given, else to the value of its variable in `variables`, else to its default.
    ProxyConfigError for an invalid address.
    """
    paths: dict[str, str] = {}
    upstreams: dict[str, Upstream] = {}
    for variable in CLIENT_VARIABLES:
        address = _address(upstream or variables.get(variable.name) or variable.default)
        if upstream and urlsplit(variable.default).path == "/v1" and not urlsplit(address).path.strip("/"):
            address = f"{address.rstrip('/')}/v1"  # clients of this API expect `/v1` in the base URL
        prefix = f"/{variable.prefix}{urlsplit(address).path.rstrip('/')}"
        number = 2
        while prefix in upstreams and upstreams[prefix].url != address.rstrip("/"):
            prefix = f"/{variable.prefix}-{number}{urlsplit(address).path.rstrip('/')}"
            number += 1
        upstreams[prefix] = parse_upstream(f"{prefix}={address}")
        paths[variable.name] = prefix
    return paths, tuple(upstreams.values())


def _address(text: str) -> str:
    """An address with its scheme; Ollama's may be `host:port`, or `0.0.0.0`, to which no client can connect."""
    address = text if "://" in text else f"http://{text}"
    parts = urlsplit(address)
    if parts.hostname in ("0.0.0.0", "::"):
        address = address.replace(parts.netloc, f"127.0.0.1:{parts.port or 11434}", 1)
    return address


def client_variables(address: BoundAddress, paths: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """What to add to the environment `variables` so that clients go to `paths` at an address of this machine."""
    return {name: f"{address.url}{path}" for name, path in paths.items()} | _unproxied(variables)


def _unproxied(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that make clients bypass an HTTP proxy for this machine; none if no proxy is set."""
    names = [name for name in ("NO_PROXY", "no_proxy") if name in variables] or ["NO_PROXY", "no_proxy"]
    if not any(name in variables for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")):
        return {}
    return {name: ",".join(filter(None, (variables.get(name), "127.0.0.1"))) for name in names}
