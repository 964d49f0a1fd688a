"""The formats there are: written out as a tuple, and those that plug-ins bring through an entry point."""

from difflib import get_close_matches
from functools import cache, lru_cache
from importlib.metadata import entry_points

from inspector.errors import UnknownFormatError
from inspector.formats.dialects.apertus import APERTUS
from inspector.formats.dialects.claude import CLAUDE
from inspector.formats.dialects.cohere import COHERE
from inspector.formats.dialects.deepseek import DEEPSEEK_V3, DEEPSEEK_V4, DEEPSEEK_V31, DEEPSEEK_V32
from inspector.formats.dialects.dots import DOTS
from inspector.formats.dialects.functionary import FUNCTIONARY
from inspector.formats.dialects.gemini import GEMINI
from inspector.formats.dialects.gemma import FUNCTIONGEMMA, GEMMA4
from inspector.formats.dialects.generic_json import GENERIC_JSON
from inspector.formats.dialects.gigachat3 import GIGACHAT3
from inspector.formats.dialects.glm45 import GLM45
from inspector.formats.dialects.granite import GRANITE, GRANITE4, GRANITE_20B_FC
from inspector.formats.dialects.harmony import HARMONY
from inspector.formats.dialects.hermes import ERNIE45, HERMES
from inspector.formats.dialects.hunyuan import HUNYUAN, HY_V3
from inspector.formats.dialects.json_schema import JSON_SCHEMA, XLAM
from inspector.formats.dialects.kimi_k2 import KIMI_K2
from inspector.formats.dialects.kimi_k3 import KIMI_K3
from inspector.formats.dialects.lfm2 import LFM2
from inspector.formats.dialects.llama3 import LLAMA3
from inspector.formats.dialects.marked_json import APRIEL, INTERNLM2, JAMBA, LONGCAT, NEMOTRON_JSON
from inspector.formats.dialects.minimax import MINIMAX_M1, MINIMAX_M2, MINIMAX_M3
from inspector.formats.dialects.mistral import MISTRAL
from inspector.formats.dialects.olmo3_pythonic import OLMO3_PYTHONIC
from inspector.formats.dialects.openai import OPENAI
from inspector.formats.dialects.phi4 import FIREFUNCTION, PHI4
from inspector.formats.dialects.pythonic import PYTHONIC
from inspector.formats.dialects.qwen import QWEN, QWEN3_CODER
from inspector.formats.dialects.react import REACT
from inspector.formats.dialects.seed_oss import SEED_OSS
from inspector.formats.dialects.step3 import STEP3, STEP3P5
from inspector.formats.format import Format

ENTRY_POINT_GROUP = "weaklink.formats"
"""Entry points of this group name a Format each."""

_BUILT_IN: tuple[Format, ...] = (
    HERMES,
    MISTRAL,
    LLAMA3,
    QWEN,
    FUNCTIONARY,
    OPENAI,
    CLAUDE,
    GEMINI,
    PYTHONIC,
    REACT,
    JSON_SCHEMA,
    APERTUS,
    APRIEL,
    COHERE,
    DEEPSEEK_V3,
    DEEPSEEK_V31,
    DEEPSEEK_V32,
    DEEPSEEK_V4,
    DOTS,
    ERNIE45,
    FIREFUNCTION,
    FUNCTIONGEMMA,
    GEMMA4,
    GENERIC_JSON,
    GIGACHAT3,
    GLM45,
    GRANITE,
    GRANITE4,
    GRANITE_20B_FC,
    HARMONY,
    HUNYUAN,
    HY_V3,
    INTERNLM2,
    JAMBA,
    KIMI_K2,
    KIMI_K3,
    LFM2,
    LONGCAT,
    MINIMAX_M1,
    MINIMAX_M2,
    MINIMAX_M3,
    NEMOTRON_JSON,
    OLMO3_PYTHONIC,
    PHI4,
    QWEN3_CODER,
    SEED_OSS,
    STEP3,
    STEP3P5,
    XLAM,
)
FALLBACK = HERMES
"""The format of a text that points to none."""
_registered: dict[str, Format] = {}


def formats() -> tuple[Format, ...]:
    """Every format: the built-in ones, then plug-ins, then those registered in this process."""
    return _known(registered_formats())


def registered_formats() -> tuple[Format, ...]:
    """Those registered in this process: what was derived from `formats` holds until these change."""
    return tuple(_registered.values()) if _registered else ()


@lru_cache(maxsize=1)
def _known(registered: tuple[Format, ...]) -> tuple[Format, ...]:
    return (*_BUILT_IN, *_plugged_in(), *registered)


@lru_cache(maxsize=1)
def _by_name(registered: tuple[Format, ...]) -> dict[str, Format]:
    """Each name and alias with its format; of two formats that share one the first counts."""
    return {name: known for known in reversed(_known(registered)) for name in (known.name, *known.aliases)}


def register_format(added: Format) -> None:
    """Make a format known in this process, in place of one registered before under the same name.

    Raises ValueError where a built-in format or a plug-in bears that name.
    """
    if any(added.name in (known.name, *known.aliases) for known in (*_BUILT_IN, *_plugged_in())):
        raise ValueError(f"a format named `{added.name}` is built in")
    _registered[added.name] = added


def find_format(name: str) -> Format:
    """The format of that name or alias, in any case. Raises UnknownFormatError, naming the nearest."""
    wanted = name.lower()
    found = _by_name(registered_formats()).get(wanted)
    if found is not None:
        return found
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
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            loaded = point.load()
        except Exception as error:  # noqa: BLE001  # foreign code: whatever it raises, the other formats still work
            broken.append(f"The plug-in `{point.name}` ({point.value}) could not be loaded: {error!r}.")
            continue
        taken = {name for known in (*_BUILT_IN, *found) for name in (known.name, *known.aliases)}
        if not isinstance(loaded, Format):
            broken.append(f"The plug-in `{point.name}` ({point.value}) is no Format but `{type(loaded).__name__}`.")
        elif taken & {loaded.name, *loaded.aliases}:
            broken.append(f"The plug-in `{point.name}` brings a format `{loaded.name}`, whose name is taken already.")
        else:
            found.append(loaded)
    return tuple(found), tuple(broken)
