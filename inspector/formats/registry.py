"""The formats: a table of the built-in ones, each imported when needed, and those of plug-ins and of this process."""

from functools import cache, lru_cache
from importlib import import_module
from types import MappingProxyType

from inspector.errors import UnknownFormatError
from inspector.formats.format import Format
from inspector.plugins import entry_points_of

ENTRY_POINT_GROUP = "weaklink.formats"
"""Entry points of this group name a Format each."""

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
        "cohere": "cohere:COHERE",
        "deepseek_v3": "deepseek:DEEPSEEK_V3",
        "deepseek_v31": "deepseek:DEEPSEEK_V31",
        "deepseek_v32": "deepseek:DEEPSEEK_V32",
        "deepseek_v4": "deepseek:DEEPSEEK_V4",
        "dots": "tagged:DOTS",
        "ernie45": "hermes:ERNIE45",
        "firefunction": "marked_json:FIREFUNCTION",
        "functiongemma": "gemma:FUNCTIONGEMMA",
        "gemma4": "gemma:GEMMA4",
        "generic_json": "bare_json:GENERIC_JSON",
        "gigachat3": "gigachat3:GIGACHAT3",
        "glm45": "tagged:GLM45",
        "granite": "granite:GRANITE",
        "granite4": "granite:GRANITE4",
        "granite_20b_fc": "granite:GRANITE_20B_FC",
        "harmony": "harmony:HARMONY",
        "hunyuan": "hunyuan:HUNYUAN",
        "hy_v3": "hunyuan:HY_V3",
        "internlm2": "marked_json:INTERNLM2",
        "jamba": "marked_json:JAMBA",
        "kimi_k2": "kimi:KIMI_K2",
        "kimi_k3": "kimi:KIMI_K3",
        "lfm2": "marked_python:LFM2",
        "longcat": "marked_json:LONGCAT",
        "minimax_m1": "minimax:MINIMAX_M1",
        "minimax_m2": "minimax:MINIMAX_M2",
        "minimax_m3": "minimax:MINIMAX_M3",
        "nemotron_json": "marked_json:NEMOTRON_JSON",
        "olmo3_pythonic": "marked_python:OLMO3_PYTHONIC",
        "phi4": "marked_json:PHI4",
        "qwen3_coder": "qwen:QWEN3_CODER",
        "seed_oss": "tagged:SEED_OSS",
        "step3": "step3:STEP3",
        "step3p5": "step3:STEP3P5",
        "xlam": "bare_json:XLAM",
    }
)
"""Each built-in format's name with its module in `dialects` and the Format there, which is imported when needed."""

_FALLBACK = "hermes"
_registered: dict[str, Format] = {}


def fallback() -> Format:
    """The format of a text that points to none."""
    return _built_in(_FALLBACK)


def formats() -> tuple[Format, ...]:
    """Every format: the built-in ones, then plug-ins, then those registered in this process."""
    return _known(registered_formats())


def registered_formats() -> tuple[Format, ...]:
    """Those registered in this process: what was derived from `formats` holds until these change."""
    return tuple(_registered.values()) if _registered else ()


@cache
def _built_in(name: str) -> Format:
    module, _, attribute = _BUILT_IN[name].partition(":")
    found = getattr(import_module(f"inspector.formats.dialects.{module}"), attribute)
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
    """Each name and alias with its format; of two formats that share one the first counts."""
    return {name: known for known in reversed(_known(registered)) for name in (known.name, *known.aliases)}


def register_format(added: Format) -> None:
    """Make a format known in this process, in place of one registered before under the same name.

    Raises ValueError where a built-in format or a plug-in bears that name.
    """
    if any(added.name in (known.name, *known.aliases) for known in (*_all_built_in(), *_plugged_in())):
        raise ValueError(f"a format named `{added.name}` is built in")
    _registered[added.name] = added


def find_format(name: str) -> Format:
    """The format of that name or alias, in any case. Raises UnknownFormatError, naming the nearest."""
    wanted = name.lower()
    if wanted in _BUILT_IN:
        return _built_in(wanted)
    found = _by_name(registered_formats()).get(wanted)
    if found is not None:
        return found
    from difflib import get_close_matches  # noqa: PLC0415  # only a mistyped name needs it

    names = [name for known in formats() for name in (known.name, *known.aliases)]
    nearest = get_close_matches(wanted, names, n=1)
    hint = f"; did you mean `{nearest[0]}`?" if nearest else "; `weaklink formats` lists them all"
    raise UnknownFormatError(f"no format is called `{name}`{hint}")


def broken_plugins() -> tuple[str, ...]:
    """What is wrong with each plug-in that brought no format, in a sentence."""
    return _plugins()[1]


def _plugged_in() -> tuple[Format, ...]:
    return _plugins()[0]


@cache
def _plugins() -> tuple[tuple[Format, ...], tuple[str, ...]]:
    found: list[Format] = []
    broken: list[str] = []
    for point in entry_points_of(ENTRY_POINT_GROUP):
        try:
            loaded = point.load()
        except Exception as error:  # noqa: BLE001  # foreign code: whatever it raises, the other formats still work
            broken.append(f"The plug-in `{point.name}` ({point.value}) could not be loaded: {error!r}.")
            continue
        taken = {name for known in (*_all_built_in(), *found) for name in (known.name, *known.aliases)}
        if not isinstance(loaded, Format):
            broken.append(f"The plug-in `{point.name}` ({point.value}) is no Format but `{type(loaded).__name__}`.")
        elif taken & {loaded.name, *loaded.aliases}:
            broken.append(f"The plug-in `{point.name}` brings a format `{loaded.name}`, whose name is taken already.")
        else:
            found.append(loaded)
    return tuple(found), tuple(broken)
