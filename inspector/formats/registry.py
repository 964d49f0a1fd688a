"""The formats there are: written out as a tuple, and those that plug-ins bring through an entry point."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from importlib.metadata import entry_points

from inspector.errors import UnknownFormatError
from inspector.formats.dialects.claude import CLAUDE
from inspector.formats.dialects.deepseek_dsml import DEEPSEEK_V4, DEEPSEEK_V32
from inspector.formats.dialects.dots import DOTS
from inspector.formats.dialects.glm45 import GLM45
from inspector.formats.dialects.hermes import HERMES
from inspector.formats.dialects.hy_v3 import HY_V3
from inspector.formats.dialects.kimi_k3 import KIMI_K3
from inspector.formats.dialects.minimax_m2 import MINIMAX_M2
from inspector.formats.dialects.minimax_m3 import MINIMAX_M3
from inspector.formats.dialects.phi4 import PHI4
from inspector.formats.dialects.qwen3_coder import QWEN3_CODER
from inspector.formats.dialects.seed_oss import SEED_OSS
from inspector.formats.dialects.step3 import STEP3
from inspector.formats.dialects.step3p5 import STEP3P5
from inspector.formats.format import Format

ENTRY_POINT_GROUP = "weaklink.formats"
"""Entry points of this group name a Format each."""

_BUILT_IN: tuple[Format, ...] = (
    HERMES,
    PHI4,
    QWEN3_CODER,
    CLAUDE,
    GLM45,
    MINIMAX_M2,
    DEEPSEEK_V32,
    DEEPSEEK_V4,
    SEED_OSS,
    STEP3,
    STEP3P5,
    HY_V3,
    DOTS,
    KIMI_K3,
    MINIMAX_M3,
)
_FALLBACK = HERMES
_registered: dict[str, Format] = {}


@dataclass(frozen=True, slots=True)
class Detection:
    """The format that a text or a model's name points to, how sure that is (0 to 1), and why, in one sentence."""

    format: Format
    confidence: float
    reason: str


def formats() -> tuple[Format, ...]:
    """Every format: the built-in ones, then plug-ins, then those registered in this process."""
    return (*_BUILT_IN, *_plugged_in(), *_registered.values())


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
    names: list[str] = []
    for known in formats():
        if wanted in (known.name, *known.aliases):
            return known
        names += (known.name, *known.aliases)
    nearest = get_close_matches(wanted, names, n=1)
    hint = f"; did you mean `{nearest[0]}`?" if nearest else "; `weaklink formats` lists them all"
    raise UnknownFormatError(f"no format is called `{name}`{hint}")


def detect_format(text: str = "", model: str = "") -> Detection:
    """The format that a model's name or a sample of its text points to.

    What the text shows outweighs the name, which outweighs a mere resemblance. With nothing to go by the answer is
    `hermes` with confidence 0.
    """
    by_text = max(formats(), key=lambda known: known.confidence(text)) if text else _FALLBACK
    confidence = by_text.confidence(text) if text else 0.0
    by_model = next(_named_by(model), None)
    if by_model is not None and confidence < 0.8:
        agrees = by_model.confidence(text) if text else 0.0
        return Detection(by_model, max(0.7, agrees), f"the model's name `{model}` is one of its models")
    if confidence:
        return Detection(by_text, confidence, f"the text holds markers of `{by_text.name}`")
    return Detection(_FALLBACK, 0.0, f"nothing points to a format; `{_FALLBACK.name}` is the default")


def _named_by(model: str) -> Iterator[Format]:
    name = model.lower()
    if name:
        yield from (known for known in formats() if any(fnmatchcase(name, pattern) for pattern in known.models))


@cache
def _plugged_in() -> tuple[Format, ...]:
    loaded = (point.load() for point in entry_points(group=ENTRY_POINT_GROUP))
    return tuple(found for found in loaded if isinstance(found, Format))
