"""Colours between two others, and the ink that can be read on them."""

_BLACK, _WHITE = "#000000", "#ffffff"


def mixed(one: str, other: str, share: float) -> str:
    """The colour (`#rrggbb`) that lies so far from one to the other: 0 is the one, 1 the other."""
    far = min(max(share, 0.0), 1.0)
    return "#" + "".join(f"{round(a + (b - a) * far):02x}" for a, b in zip(_parts(one), _parts(other), strict=True))


def ink_on(ground: str) -> str:
    """Black or white, whichever stands out more from a ground: by 4.5:1 at least, whatever the ground."""
    return max((_BLACK, _WHITE), key=lambda ink: contrast(ink, ground))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21, as WCAG 2.2 defines it."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(part / 255) for part in _parts(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def _parts(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue
