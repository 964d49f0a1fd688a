"""docs/architecture.md: its picture is the import graph, its terms are in the code, its paths and functions exist."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
PICTURE = re.compile(r"(?<=<!-- picture -->\n).*?(?=<!-- /picture -->)", re.DOTALL)
MEND = "`make architecture` rewrites it"
ROOTS = ("weaklink", "ui", "storage", "inspector")
# Values and small tools that everything imports: not drawn.
EVERYWHERE = {
    f"inspector.{name}"
    for name in (
        *("model", "diagnostics", "rules", "text", "errors", "version", "json_text", "memory", "scanning"),
        *("host_header", "otlp_protobuf", "spool", "user_folder"),
    )
}


def picture() -> str:
    """The graph as Mermaid text: who imports whom, without an arrow where a longer way leads to the same box."""
    edges = _reduced(_edges())
    lines = ["```mermaid", "flowchart TD"]
    for root in ROOTS:
        boxes = sorted(box for box in edges if box.partition(".")[0] == root)
        lines.append(f'    subgraph packages_{root}["{root}/"]')
        lines += [f"        {_id(box)}[{box.partition('.')[2] or box}]" for box in boxes]
        lines.append("    end")
    lines += [f"    {_id(box)} --> {_id(other)}" for box in sorted(edges) for other in sorted(edges[box])]
    return "\n".join([*lines, "```", ""])


def _id(box: str) -> str:
    return box.replace(".", "_")


def _edges() -> dict[str, set[str]]:
    graph = grimp.build_graph("weaklink", cache_dir=None)
    edges: dict[str, set[str]] = defaultdict(set)
    for module in graph.modules:
        box = _box(module)
        if box in EVERYWHERE:
            continue
        edges[box] |= set()
        for imported in graph.find_modules_directly_imported_by(module):
            other = _box(imported)
            if other != box and other not in EVERYWHERE:
                edges[box].add(other)
    for names_only in ("inspector", "ui"):
        edges.pop(names_only)
    return {box: others - {"inspector", "ui"} for box, others in edges.items()}


def _box(module: str) -> str:
    """What a module is drawn as: a package of `inspector` or `ui`, and the whole of the others."""
    module = module.removeprefix("weaklink.")
    root = module.partition(".")[0]
    if root not in ROOTS:
        return "weaklink"
    return ".".join(module.split(".")[:2]) if root in {"inspector", "ui"} else root


def _reduced(edges: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The graph without the edges that follow from others."""
    return {
        box: {other for other in others if not any(other in _reached(edges, via) for via in others - {other})}
        for box, others in edges.items()
    }


def _reached(edges: Mapping[str, set[str]], start: str) -> set[str]:
    names: set[str] = set()
    waiting = list(edges[start])
    while waiting:
        box = waiting.pop()
        if box not in names:
            names.add(box)
            waiting += edges[box]
    return names


def test_the_picture_is_the_import_graph(update_goldens: bool) -> None:
    text, drawn = PAGE.read_text(encoding="utf-8"), picture()
    if update_goldens:
        PAGE.write_text(PICTURE.sub(lambda _: drawn, text), encoding="utf-8")
    else:
        assert PICTURE.findall(text) == [drawn], MEND


def test_the_graph_is_complete_and_has_no_circle() -> None:
    edges = _edges()
    assert {box.partition(".")[0] for box in edges} == set(ROOTS)
    assert [box for box in edges if box in _reached(edges, box)] == []
    reduced = _reduced(edges)
    assert {box: _reached(reduced, box) for box in edges} == {box: _reached(edges, box) for box in edges}


def test_every_path_on_the_page_exists() -> None:
    paths = re.findall(
        r"`((?:weaklink|inspector|storage|ui|tests|docs|sample_traces)/[\w./*-]*)`", PAGE.read_text(encoding="utf-8")
    )
    assert len(paths) > 20
    assert [path for path in paths if not list(ROOT.glob(path.rstrip("/")))] == []


def test_every_function_on_the_page_is_in_the_file_that_is_named() -> None:
    named = re.findall(r"`([A-Za-z_][\w.]*)` in `([\w/]+\.py)`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 20
    assert [pair for pair in named if not _defines(ROOT / pair[1], pair[0].rpartition(".")[2])] == []


def _defines(path: Path, name: str) -> bool:
    text = path.read_text(encoding="utf-8")
    return re.search(rf"^\s*(?:(?:async )?def|class) {name}\b|^{name}\b.* = ", text, re.MULTILINE) is not None


def _terms() -> Iterator[tuple[str, str]]:
    yield from re.findall(r"^\| \*\*([^*]+)\*\* \| .* \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_glossary_has_at_most_forty_terms_in_order() -> None:
    terms = [term for term, _ in _terms()]
    assert 20 < len(terms) <= 40
    assert terms == sorted(set(terms), key=str.casefold)


@pytest.mark.parametrize(("term", "names"), list(_terms()))
def test_a_term_of_the_glossary_is_in_the_code(term: str, names: str) -> None:
    for name in re.findall(r"`([\w.]+)`", names):
        module, _, attribute = name.rpartition(".")
        assert hasattr(import_module(module), attribute), term
