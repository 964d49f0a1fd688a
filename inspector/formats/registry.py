"""The registry of formats: the built-in ones, each imported when needed, and those of plug-ins and of this process."""

from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from types import MappingProxyType

from weaklink.inspector.errors import UnknownFormatError
from weaklink.inspector.formats.format import Format

ENTRY_POINT_GROUP = "weaklink.formats"
"""The entry point group of format plug-ins; each entry point refers to a Format."""

_BUILT_IN = MappingProxyType(
    {
        "hermes": "hermes:HERMES",
        "mistral": "mistral:MISTRAL",
        "llama3": "llama3:LLAMA3",
        "qwen": "qwen:QWEN",
        "functionary": "functionary:FUNCTIONARY",
        "openai": "openai:OPENAI",
        "claude": "claude:CLAUDE",
        "gemini": "gemini:GEMINI",
        "pythonic": "pythonic:PYTHONIC",
        "react": "react:REACT",
        "json_schema": "bare_json:JSON_SCHEMA",
        "apertus": "apertus:APERTUS",
        "apriel": "marked_json:APRIEL",
        "beam": "recipients:BEAM",
        "cohere": "cohere:COHERE",
        "command_r_action": "cohere:COMMAND_R_ACTION",
        "deepseek_v3": "deepseek:DEEPSEEK_V3",
        "deepseek_v31": "deepseek:DEEPSEEK_V31",
        "deepseek_v32": "deepseek:DEEPSEEK_V32",
        "deepseek_v4": "deepseek:DEEPSEEK_V4",
        "deepseek_v41": "deepseek:DEEPSEEK_V41",
        "dots": "tagged:DOTS",
        "ernie45": "hermes:ERNIE45",
        "firefunction": "marked_json:FIREFUNCTION",
        "functiongemma": "gemma:FUNCTIONGEMMA",
        "gemma4": "gemma:GEMMA4",
        "generic_json": "bare_json:GENERIC_JSON",
        "gigachat3": "gigachat3:GIGACHAT3",
        "gigachat35": "deepseek:GIGACHAT35",
        "glm45": "tagged:GLM45",
        "granite": "granite:GRANITE",
        "granite4": "granite:GRANITE4",
        "granite_20b_fc": "granite:GRANITE_20B_FC",
        "harmony": "harmony:HARMONY",
        "hunyuan": "marked_json:HUNYUAN",
        "hy_v3": "tagged:HY_V3",
        "hy_v4": "tagged:HY_V4",
        "inkling": "marked_json:INKLING",
        "internlm2": "marked_json:INTERNLM2",
        "iquest_q1": "tagged:IQUEST_Q1",
        "jamba": "marked_json:JAMBA",
        "k2_horizon": "tagged:K2_HORIZON",
        "kimi_k2": "kimi:KIMI_K2",
        "kimi_k3": "kimi:KIMI_K3",
        "lfm2": "marked_python:LFM2",
        "longcat": "marked_json:LONGCAT",
        "minicpm5": "tagged:MINICPM5",
        "minimax_m1": "minimax:MINIMAX_M1",
        "minimax_m2": "minimax:MINIMAX_M2",
        "minimax_m3": "minimax:MINIMAX_M3",
        "mirothinker": "sections:MIROTHINKER",
        "muse": "recipients:MUSE",
        "nemotron_json": "marked_json:NEMOTRON_JSON",
        "olmo3_pythonic": "marked_python:OLMO3_PYTHONIC",
        "phi4": "marked_json:PHI4",
        "plamo3": "sections:PLAMO3",
        "qwen3_coder": "qwen:QWEN3_CODER",
        "seed_oss": "tagged:SEED_OSS",
        "solar_open": "sections:SOLAR_OPEN",
        "solar_open2": "tagged:SOLAR_OPEN2",
        "step3": "tagged:STEP3",
        "step3p5": "tagged:STEP3P5",
        "xlam": "bare_json:XLAM",
    }
)
"""By the name of each built-in format: its module in `dialects` and the Format there, which is imported when needed."""

_FALLBACK = "hermes"
_registered: dict[str, Format] = {}


def fallback() -> Format:
    """The default format, for a text that points to no format."""
    return _built_in(_FALLBACK)


def formats() -> tuple[Format, ...]:
    """Every format: the built-in ones, then plug-ins, then those registered in this process."""
    return _known(registered_formats())


def registered_formats() -> tuple[Format, ...]:
    """The formats registered in this process; a cache derived from `formats` is valid until these change."""
    return tuple(_registered.values()) if _registered else ()


@cache
def _built_in(name: str) -> Format:
    module, _, attribute = _BUILT_IN[name].partition(":")
    found = getattr(import_module(f"weaklink.inspector.formats.dialects.{module}"), attribute)
    assert isinstance(found, Format)
    return found


@cache
def _all_built_in() -> tuple[Format, ...]:
    return tuple(map(_built_in, _BUILT_IN))


@lru_cache(maxsize=1)
def _known(registered: tuple[Format, ...]) -> tuple[Format, ...]:
    return (*_all_built_in(), *_plugged_in(), *registered)


@lru_cache(maxsize=1)
def _by_name(registered: tuple[Format, ...]) -> dict[str, Format]:
    """The formats by name and alias; of two formats that share one the first counts."""
    return {name: known for known in reversed(_known(registered)) for name in (known.name, *known.aliases)}


def register_format(added: Format) -> None:
    """Register a format in this process; replaces one registered before under the same name.

    Raises ValueError if a built-in format or a plug-in has that name.
    """
    if any(added.name in (known.name, *known.aliases) for known in (*_all_built_in(), *_plugged_in())):
        raise ValueError(f"a built-in format is already named `{added.name}`")
    _registered[added.name] = added


def find_format(name: str) -> Format:
    """The format with that name or alias, ignoring case. Raises UnknownFormatError, which suggests the nearest name."""
    found = known_format(name)
    if found is not None:
        return found
    lowered = name.lower()
    from difflib import get_close_matches  # noqa: PLC0415  # only a mistyped name needs it

    names = [name for known in formats() for name in (known.name, *known.aliases)]
    nearest = get_close_matches(lowered, names, n=1)
    hint = f"; did you mean `{nearest[0]}`?" if nearest else "; `weaklink formats` lists all formats"
    raise UnknownFormatError(f"unknown format `{name}`{hint}")


def known_format(name: str) -> Format | None:
    """The format with that name or alias, ignoring case; None if there is none."""
    lowered = name.lower()
    return _built_in(lowered) if lowered in _BUILT_IN else _by_name(registered_formats()).get(lowered)


def broken_plugins() -> tuple[str, ...]:
    """One sentence for each plug-in that provided no usable format, with the reason."""
    return _plugins()[1]


def _plugged_in() -> tuple[Format, ...]:
    return _plugins()[0]


@cache
def _plugins() -> tuple[tuple[Format, ...], tuple[str, ...]]:
    found: list[Format] = []
    broken: list[str] = []
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            loaded = point.load()
        except Exception as error:  # noqa: BLE001  # foreign code: whatever it raises, the other formats still work
            broken.append(f"The plug-in `{point.name}` ({point.value}) could not be loaded: {error!r}.")
            continue
        taken = {name for known in (*_all_built_in(), *found) for name in (known.name, *known.aliases)}
        if not isinstance(loaded, Format):
            broken.append(f"The plug-in `{point.name}` ({point.value}) is a `{type(loaded).__name__}`, not a Format.")
        elif taken & {loaded.name, *loaded.aliases}:
            broken.append(f"The plug-in `{point.name}` adds a format `{loaded.name}`, but that name is already taken.")
        else:
            found.append(loaded)
    return tuple(found), tuple(broken)
