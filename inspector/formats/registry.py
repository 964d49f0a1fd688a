"""The registry of formats: the built-in ones, each imported when needed, and those of plug-ins and of this process."""

from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import entry_points

from weaklink.inspector.errors import UnknownFormatError
from weaklink.inspector.formats.format import Format

ENTRY_POINT_GROUP = "weaklink.formats"
"""The entry point group of format plug-ins; each entry point refers to a Format."""

_MAIN = (
    *("hermes", "mistral", "llama3", "qwen", "functionary", "openai", "claude", "gemini", "pythonic", "react"),
    "json_schema",
)
"""The formats that count first where a text resembles several; the others are in the order of their names."""
_MODULES = {
    "apertus": "apertus",
    "bare_json": "generic_json json_schema xlam",
    "claude": "claude",
    "code_action": "code_action",
    "cohere": "cohere command_r_action",
    "deepseek": "deepseek_v3 deepseek_v31 deepseek_v32 deepseek_v4 deepseek_v41 gigachat35",
    "functionary": "functionary",
    "gemini": "gemini",
    "gemma": "functiongemma gemma4",
    "gigachat3": "gigachat3",
    "granite": "granite granite4 granite_20b_fc",
    "harmony": "harmony",
    "hermes": "ernie45 hermes",
    "kimi": "kimi_k2 kimi_k3",
    "llama3": "llama3",
    "marked_json": "apriel firefunction hunyuan inkling internlm2 jamba longcat nemotron_json phi4",
    "marked_python": "lfm2 olmo3_pythonic",
    "minimax": "minimax_m1 minimax_m2 minimax_m3",
    "mistral": "mistral",
    "openai": "openai",
    "pythonic": "pythonic",
    "qwen": "qwen qwen3_coder",
    "react": "react",
    "recipients": "beam muse",
    "sections": "mirothinker plamo3 solar_open",
    "tagged": "dots glm45 hy_v3 hy_v4 iquest_q1 k2_horizon minicpm5 seed_oss solar_open2 step3 step3p5",
}
"""The formats of each module in `dialects`; a Format's constant is its name in capitals."""
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}
_BUILT_IN = {name: _MODULE_OF[name] for name in (*_MAIN, *sorted(set(_MODULE_OF) - set(_MAIN)))}
"""By the name of each built-in format: its module, which is imported when needed."""

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
    format_ = getattr(import_module(f"weaklink.inspector.formats.dialects.{_BUILT_IN[name]}"), name.upper())
    assert isinstance(format_, Format)
    return format_


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
    format_ = known_format(name)
    if format_ is not None:
        return format_
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
    plugins: list[Format] = []
    broken: list[str] = []
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            loaded = point.load()
        except Exception as error:  # noqa: BLE001  # foreign code: whatever it raises, the other formats still work
            broken.append(f"The plug-in `{point.name}` ({point.value}) could not be loaded: {error!r}.")
            continue
        taken = {name for known in (*_all_built_in(), *plugins) for name in (known.name, *known.aliases)}
        if not isinstance(loaded, Format):
            broken.append(f"The plug-in `{point.name}` ({point.value}) is a `{type(loaded).__name__}`, not a Format.")
        elif taken & {loaded.name, *loaded.aliases}:
            broken.append(f"The plug-in `{point.name}` adds a format `{loaded.name}`, but that name is already taken.")
        else:
            plugins.append(loaded)
    return tuple(plugins), tuple(broken)
