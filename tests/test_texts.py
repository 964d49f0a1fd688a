"""What README, CONTRIBUTING and their neighbours say is true."""

import doctest
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from weaklink.inspector.formats import registry
from weaklink.inspector.formats.server_parsers import ServerParser, known_parsers
from weaklink.inspector.importers.places import PLACES, READ_VERSIONS
from weaklink.inspector.importers.registry import source_names
from weaklink.inspector.rules.catalogue import RULES
from weaklink.inspector.rules.rule import Rule

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
TEXTS = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "CITATION.cff",
    *(path.relative_to(ROOT).as_posix() for path in sorted(DOCS.rglob("*.md"))),
    ".github/workflows/ci.yml",
    ".github/workflows/release.yml",
    ".pre-commit-config.yaml",
    ".pre-commit-hooks.yaml",
    "Makefile",
    "pyproject.toml",
    "constraints.txt",
    "constraints-dev.txt",
    "constraints-docs.txt",
    "zensical.toml",
    ".ci/run",
)
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    *(path.relative_to(ROOT).as_posix() for path in sorted(DOCS.rglob("*.md"))),
)
PLACES_TABLE = re.compile(r"(?<=<!-- places -->\n).*?(?=<!-- /places -->)", re.DOTALL)
FORMATS = re.compile(r"(?<=<!-- formats -->\n).*?(?=<!-- /formats -->)", re.DOTALL)
SERVERS = re.compile(r"(?<=<!-- servers -->\n).*?(?=<!-- /servers -->)", re.DOTALL)
SHOWN = re.compile(r"(?<=<!-- segment-example -->\n).*?(?=<!-- /segment-example -->)", re.DOTALL)
EXAMPLE = ROOT / "examples" / "answer.txt"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", ".ci/run"])
def test_every_make_target_named_exists(name: str) -> None:
    makefile = _read("Makefile")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    targets |= {f"part-{part}" for part in re.findall(r"^PARTS := (.*)", makefile, re.MULTILINE)[0].split()}
    named = re.findall(r"(?:^|`)make ([a-z -]+)", _read(name), re.MULTILINE)
    assert named
    assert set(" ".join(named).split()) <= targets


@pytest.mark.parametrize("name", PAGES)
def test_every_link_into_the_repository_leads_somewhere(name: str) -> None:
    links = re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", _read(name))
    page = ROOT / name
    assert [link for link, _ in links if not (page.parent / link).exists()] == []
    for link, anchor in links:
        assert not anchor or anchor in _anchors(page.parent / link if link else page), (link, anchor)


def _anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_contributing_says_where_each_rule_is_found(rule: Rule) -> None:
    row = re.search(rf"^\| {rule.code[0]}\dxx, .*$", _read("CONTRIBUTING.md"), re.MULTILINE)
    assert row is not None
    declared, folders = (re.findall(r"`([\w./]+)`", cell) for cell in row[0].split("|")[2:4])
    modules = [ROOT / "inspector" / "rules" / name for name in declared]
    assignment = re.compile(rf"^([A-Z_0-9]+)(?:: \w+)? = (?:Rule|\w+)\(\s*(?:code=)?\"{rule.code}\"", re.MULTILINE)
    constants = [name for module in modules for name in assignment.findall(module.read_text(encoding="utf-8"))]
    assert len(constants) == 1
    places = [ROOT / "inspector" / location for location in folders]
    files = [file for root in places for file in ([root] if root.is_file() else root.rglob("*.py"))]
    assert any(re.search(rf"\b{constants[0]}\b", file.read_text(encoding="utf-8")) for file in files)


@pytest.mark.parametrize("name", TEXTS)
def test_no_text_names_a_folder_of_one_machine(name: str) -> None:
    own = re.escape(str(ROOT))
    assert re.findall(rf"{own}|(?<![\w.~-])/(?:home|root|Users|mnt)/", _read(name)) == []


CONSTRAINTS = ("constraints.txt", "constraints-dev.txt", "constraints-docs.txt")


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints_hold_exact_versions_with_hashes_and_nothing_else(name: str) -> None:
    text = re.sub(r"^#.*\n", "", _read(name), flags=re.MULTILINE)
    entries = re.sub(r" \\\n +", " ", text).splitlines()
    entry = re.compile(r"[\w.-]+==[\w.]+(?: ; [\w .'<>=!]+)?(?: --hash=sha256:[0-9a-f]{64})+")
    assert [word for word in entries if not entry.fullmatch(word)] == []


def test_constraints_name_what_the_project_depends_on_once() -> None:
    project = tomllib.loads(_read("pyproject.toml"))
    own = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    extras = project["project"]["optional-dependencies"]
    tools = [*extras["postgres"], *extras["data"], *project["dependency-groups"]["dev"]]
    installed, in_dev = (dict(re.findall(r"^([\w.-]+)==(\S+)", _read(name), re.MULTILINE)) for name in CONSTRAINTS[:2])
    assert {_plain(line) for line in own} - {_plain(name) for name in installed} == set()
    assert {_plain(line) for line in (*own, *tools)} - {_plain(name) for name in in_dev} == set()
    assert installed.items() <= in_dev.items()


def _plain(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement)[0]).lower()


def test_the_readme_has_at_most_200_lines() -> None:
    assert len(_read("README.md").splitlines()) <= 200


def test_docs_list_every_source() -> None:
    table = _read("docs/sources.md").partition("## Usual places")[0]
    assert sorted(re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE)) == sorted(source_names())


def test_docs_list_every_place(update_goldens: bool) -> None:
    rows = (
        f"| `{logs.source}` | `{'' if logs.is_in_project else f'~/{logs.root}/'}{logs.pattern}` | "
        f"{f'`{logs.variable}`' if logs.variable else ''} | {f'`~/{logs.mac_root}`' if logs.mac_root else ''} | "
        f"{READ_VERSIONS[logs.source]} |\n"
        for logs in PLACES
    )
    heads = "| source | files | variable | folder on macOS | versions |\n| --- | --- | --- | --- | --- |\n"
    table = heads + "".join(rows)
    text = _read("docs/sources.md")
    if update_goldens:
        (DOCS / "sources.md").write_text(PLACES_TABLE.sub(lambda _: table, text), encoding="utf-8")
    else:
        assert PLACES_TABLE.findall(text) == [table], "run `make source-table`"


def test_docs_list_every_format(update_goldens: bool) -> None:
    text, table = _read("docs/formats.md"), "\n".join(_format_table()) + "\n"
    if update_goldens:
        (DOCS / "formats.md").write_text(FORMATS.sub(lambda _: table, text), encoding="utf-8")
    else:
        assert FORMATS.findall(text) == [table], "run `make format-table`"


def test_docs_list_every_format_whose_parsers_were_measured(update_goldens: bool) -> None:
    versions = dict.fromkeys((parser.server, parser.version) for parser in known_parsers())
    heads = ["format", *(f"parsers of {server} {version}" for server, version in versions), "kinds of texts"]
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
    for format in dict.fromkeys(parser.format for parser in known_parsers()):
        own = [parser for parser in known_parsers() if parser.format == format]
        cells = [", ".join(_measured(parser for parser in own if parser.server == server)) for server, _ in versions]
        lines.append(f"| {' | '.join([f'`{format}`', *cells, str(sum(len(parser.rows) for parser in own))])} |")
    table = "\n".join(lines) + "\n"
    text = _read("docs/formats.md")
    if update_goldens:
        (DOCS / "formats.md").write_text(SERVERS.sub(lambda _: table, text), encoding="utf-8")
    else:
        assert SERVERS.findall(text) == [table], "run `make format-table`"


def _measured(parsers: Iterable[ServerParser]) -> Iterator[str]:
    """The names of parsers, each with the reasoning parsers that it was measured with."""
    reasoning: dict[str, list[str]] = {}
    for parser in parsers:
        reasoning.setdefault(parser.name, []).extend([f"`{parser.reasoning}`"] if parser.reasoning else [])
    for name, others in reasoning.items():
        yield f"`{name}` (alone, or with {' or '.join(others)})" if others else f"`{name}`"


def test_the_example_in_the_readme_is_what_the_command_prints(update_goldens: bool, tmp_path: Path) -> None:
    path = tmp_path / "answer.txt"
    path.write_bytes(EXAMPLE.read_bytes())
    start = "from weaklink.command import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", start, "segment", "--text", "--color", "never", path.name],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": str(ROOT / "src")},
    )
    block = f"```text\n{done.stdout.strip()}\n```\n"
    text = _read("README.md")
    if update_goldens:
        README.write_text(SHOWN.sub(lambda _: block, text), encoding="utf-8")
    else:
        assert SHOWN.findall(text) == [block], "`make test ARGS='tests/test_texts.py --update-goldens'` mends it"


@pytest.mark.parametrize(
    "page", [README, DOCS / "python.md", DOCS / "training-data-making.md"], ids=lambda page: page.name
)
def test_the_python_on_a_page_runs_as_it_says(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted >= 3
    assert not result.failed


def _format_table() -> Iterator[str]:
    yield "| format | also called | what it looks like |"
    yield "| --- | --- | --- |"
    for form in registry.formats():
        shown = form.summary.replace("|", r"\|").replace("<", r"\<")
        yield f"| `{form.name}` | {', '.join(form.aliases)} | {shown} |"


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")
