"""The environment variables that point clients of model APIs at a proxy, and the addresses that they use without it.

A provider's clients read different variables for the same server: openai's own read `OPENAI_BASE_URL`, LangChain
prefers `OPENAI_API_BASE`. If the user set one of them, that is the server that was chosen for the provider, so every
variable of the provider is set to a path that leads there. Only a provider of which no variable is set keeps the
default of its clients, a public address that nobody chose; `Upstream.default_of` marks it. If two variables of one
provider name different servers, each keeps its own, and `ClientRoutes.conflicts` says so.
"""

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from weaklink.inspector.capture.proxy.config import Upstream, parse_upstream
from weaklink.inspector.capture.proxy.server import BoundAddress

_OLLAMA_PORT = 11434


class ClientVariable(Struct, frozen=True):
    """An environment variable that clients read: the address of a server, then `path`.

    One that is `is_optional` is read by few clients, or by clients that expect different paths: it is set only if the
    user has set it.
    """

    name: str
    path: str = ""
    is_optional: bool = False


class ClientProvider(Struct, frozen=True):
    """A provider and the variables of its clients, the one that its own SDK reads first.

    `default` is the address that clients use without any of them, `""` if they have none.
    """

    prefix: str
    title: str
    default: str
    variables: tuple[ClientVariable, ...]


# Which clients read them: openai, anthropic, ollama, google-genai, groq, together and cohere read the first one of
# their provider; LiteLLM reads those in API_BASE; LangChain OPENAI_API_BASE, ANTHROPIC_API_URL, MISTRAL_BASE_URL and
# OPENROUTER_API_BASE; pydantic-ai OLLAMA_BASE_URL, VLLM_BASE_URL, CO_BASE_URL and MOONSHOTAI_BASE_URL. Those of
# Amazon's and Google's clouds are left alone: their requests are signed for the host.
PROVIDERS = (
    ClientProvider(
        "openai",
        "OpenAI",
        "https://api.openai.com",
        (
            ClientVariable("OPENAI_BASE_URL", "/v1"),
            ClientVariable("OPENAI_API_BASE", "/v1"),
            ClientVariable("OPENAI_API_BASE_URL", "/v1", is_optional=True),
        ),
    ),
    ClientProvider(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com",
        (
            ClientVariable("ANTHROPIC_BASE_URL"),
            ClientVariable("ANTHROPIC_API_URL"),
            ClientVariable("ANTHROPIC_API_BASE"),
        ),
    ),
    ClientProvider(
        "ollama",
        "Ollama",
        "http://127.0.0.1:11434",
        (
            ClientVariable("OLLAMA_HOST"),
            ClientVariable("OLLAMA_API_BASE"),
            ClientVariable("OLLAMA_BASE_URL", "/v1", is_optional=True),
        ),
    ),
    ClientProvider(
        "gemini",
        "Gemini",
        "https://generativelanguage.googleapis.com",
        (
            ClientVariable("GOOGLE_GEMINI_BASE_URL"),
            ClientVariable("GEMINI_API_BASE", is_optional=True),
            ClientVariable("GEMINI_BASE_URL", is_optional=True),
        ),
    ),
    ClientProvider(
        "groq",
        "Groq",
        "https://api.groq.com",
        (ClientVariable("GROQ_BASE_URL"), ClientVariable("GROQ_API_BASE", "/openai/v1", is_optional=True)),
    ),
    ClientProvider(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api",
        (ClientVariable("OPENROUTER_API_BASE", "/v1"), ClientVariable("OPENROUTER_BASE_URL", "/v1", is_optional=True)),
    ),
    ClientProvider(
        "mistral",
        "Mistral",
        "https://api.mistral.ai",
        (ClientVariable("MISTRAL_BASE_URL", "/v1"), ClientVariable("MISTRAL_API_BASE", "/v1")),
    ),
    ClientProvider(
        "together",
        "Together",
        "https://api.together.xyz",
        (ClientVariable("TOGETHER_BASE_URL", "/v1"), ClientVariable("TOGETHERAI_API_BASE", "/v1", is_optional=True)),
    ),
    ClientProvider(
        "cohere",
        "Cohere",
        "https://api.cohere.com",
        (
            ClientVariable("CO_API_URL"),
            ClientVariable("CO_BASE_URL", is_optional=True),
            ClientVariable("COHERE_API_BASE", is_optional=True),
        ),
    ),
    ClientProvider(
        "azure",
        "Azure OpenAI",
        "",
        (ClientVariable("AZURE_OPENAI_ENDPOINT"), ClientVariable("AZURE_API_BASE", is_optional=True)),
    ),
    ClientProvider(
        "vllm",
        "vLLM",
        "",
        (
            ClientVariable("VLLM_BASE_URL", "/v1", is_optional=True),
            ClientVariable("VLLM_API_BASE", "/v1", is_optional=True),
            ClientVariable("HOSTED_VLLM_API_BASE", "/v1", is_optional=True),
        ),
    ),
    ClientProvider(
        "litellm",
        "LiteLLM",
        "",
        (
            ClientVariable("LITELLM_BASE_URL", is_optional=True),
            ClientVariable("LITELLM_API_BASE", is_optional=True),
            ClientVariable("LITELLM_PROXY_API_BASE", is_optional=True),
        ),
    ),
    ClientProvider("lm-studio", "LM Studio", "", (ClientVariable("LM_STUDIO_API_BASE", "/v1", is_optional=True),)),
    ClientProvider("deepseek", "DeepSeek", "", (ClientVariable("DEEPSEEK_API_BASE", "/v1", is_optional=True),)),
    ClientProvider("fireworks", "Fireworks", "", (ClientVariable("FIREWORKS_API_BASE", "/v1", is_optional=True),)),
    ClientProvider("xai", "xAI", "", (ClientVariable("XAI_API_BASE", "/v1", is_optional=True),)),
    ClientProvider("moonshot", "Moonshot", "", (ClientVariable("MOONSHOTAI_BASE_URL", "/v1", is_optional=True),)),
    ClientProvider("sambanova", "SambaNova", "", (ClientVariable("SAMBANOVA_BASE_URL", "/v1", is_optional=True),)),
)


class ClientRoutes(Struct, frozen=True):
    """The path below the proxy for each client variable, the upstreams of these paths, and contradicting variables.

    `conflicts` are sentences, one for each provider whose variables name different servers.
    """

    paths: dict[str, str]
    upstreams: tuple[Upstream, ...]
    conflicts: tuple[str, ...] = ()


def routes(variables: Mapping[str, str], upstream: str | None) -> ClientRoutes:
    """Where the clients of each provider go: to `upstream` if given, else as `variables` say, else to their default.

    ProxyConfigError for an invalid address.
    """
    paths: dict[str, str] = {}
    upstreams: dict[str, Upstream] = {}
    conflicts: list[str] = []
    for provider in PROVIDERS:
        addresses = _addresses(provider, variables, upstream)
        is_default = not (upstream or any(variables.get(variable.name) for variable in provider.variables))
        for name, address in addresses.items():
            prefix = _free_prefix(provider.prefix, address, upstreams)
            added = replace(
                parse_upstream(f"{prefix}={address}"),
                default_of=provider.title if is_default else "",
                variable=provider.variables[0].name,
            )
            upstreams[prefix] = added
            paths[name] = prefix
        if not upstream:
            conflicts += _conflicts(provider, variables)
    return ClientRoutes(paths, tuple(upstreams.values()), tuple(conflicts))


def _addresses(provider: ClientProvider, variables: Mapping[str, str], upstream: str | None) -> dict[str, str]:
    """The address that each variable of a provider leads to."""
    given = {
        variable: _address(variables[variable.name]) for variable in provider.variables if variables.get(variable.name)
    }
    chosen, address = next(iter(given.items()), (None, provider.default))
    addresses = {}
    for variable in provider.variables:
        if upstream:
            if variable in given or not (variable.is_optional or not provider.default):
                addresses[variable.name] = _below_upstream(upstream, variable)
        elif variable in given:
            addresses[variable.name] = given[variable]
        elif address and not variable.is_optional:
            root = address if chosen is None else _root(address, chosen)
            is_same = chosen is not None and chosen.path == variable.path
            addresses[variable.name] = address if is_same else f"{root}{variable.path}"
    return addresses


def _below_upstream(upstream: str, variable: ClientVariable) -> str:
    """The address for a variable if all clients go to one server, which may be given with `/v1` or without."""
    address = _address(upstream)
    if not variable.path:
        return address.removesuffix("/v1")
    return address if urlsplit(address).path.strip("/") else f"{address}/v1"


def _root(address: str, variable: ClientVariable) -> str:
    return address.removesuffix(variable.path)


def _conflicts(provider: ClientProvider, variables: Mapping[str, str]) -> Iterator[str]:
    given = [
        (variable, _address(variables[variable.name]))
        for variable in provider.variables
        if variables.get(variable.name)
    ]
    if len({_root(address, variable).lower() for variable, address in given}) > 1:
        named = " and ".join(f"{variable.name} is {address}" for variable, address in given)
        yield (
            f"{named}: clients of {provider.title} read one or the other, so each goes to the server of its variable; "
            "set them to the same address, or only one of them."
        )


def _free_prefix(name: str, address: str, upstreams: Mapping[str, Upstream]) -> str:
    """A path for an address that no other address has."""
    path = urlsplit(address).path
    prefix, number = f"/{name}{path}", 2
    while prefix in upstreams and upstreams[prefix].url != address:
        prefix, number = f"/{name}-{number}{path}", number + 1
    return prefix


def _address(text: str) -> str:
    """An address with its scheme; Ollama's may be a host alone, or `0.0.0.0`, to which no client can connect."""
    address = (text if "://" in text else f"http://{text}").rstrip("/")
    parts = urlsplit(address)
    try:
        port = parts.port or (None if "://" in text else _OLLAMA_PORT)
    except ValueError:
        return address  # the caller reports it
    host = "127.0.0.1" if parts.hostname in ("0.0.0.0", "::") else parts.hostname or ""
    if "@" in parts.netloc or (host == parts.hostname and port == parts.port):
        return address
    host = f"[{host}]" if ":" in host else host
    return parts._replace(netloc=f"{host}:{port or _OLLAMA_PORT}").geturl()


def client_variables(address: BoundAddress, paths: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """What to add to the environment `variables` so that clients go to `paths` at an address of this machine."""
    return {name: f"{address.url}{path}" for name, path in paths.items()} | _unproxied(variables)


def _unproxied(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that make clients bypass an HTTP proxy for this machine; none if no proxy is set."""
    names = [name for name in ("NO_PROXY", "no_proxy") if name in variables] or ["NO_PROXY", "no_proxy"]
    if not any(name in variables for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")):
        return {}
    return {name: ",".join(filter(None, (variables.get(name), "127.0.0.1"))) for name in names}
