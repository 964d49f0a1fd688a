"""Makes the pages of the documentation site out of the repository: `make docs` hands them to Zensical.

The pages in `docs` are read on a code host too, so their links lead to files of the repository. On the site:

* README.md is the first page, every page of `docs` keeps its path;
* a link from page to page stays one, a link to another file of the repository leads to the code host;
* the pages of rules, of the public Python names, and the JSON Schemas are made from the code and are not committed.
"""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import weaklink
from tests.docs.rule_pages import rule_index, rule_pages
from weaklink.ui.cli.reference import SCHEMAS, schema_of

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
HOST = "https://github.com/weaklink/weaklink"
LINK = re.compile(r"\]\((?P<path>[^)#:\s]*)(?P<anchor>#[^)\s]*)?\)")


def main(folder: Path) -> None:
    """Write all pages and pictures into a folder, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS / "pictures", folder / "pictures")
    for name, text in pages().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """The path on the site and the text of each page, and of each schema."""
    written = {path.relative_to(DOCS).as_posix(): _site_text(path) for path in sorted(DOCS.rglob("*.md"))}
    return {
        "index.md": _site_text(README),
        **written,
        "rules.md": f"{written['rules.md']}\n{rule_index()}",
        **rule_pages(f"{HOST}/blob/main/"),
        "api.md": f"{written['api.md']}\n{_public_names()}",
        "schemas.md": f"{written['schemas.md']}\n{_schema_list()}",
        **{_schema_file(name): json.dumps(schema_of(name), indent=1) for name in SCHEMAS},
    }


def _public_names() -> str:
    """Each public name as mkdocstrings takes it, by the module that has the list of them."""
    return "\n".join(f"::: weaklink.inspector.{name}\n" for name in sorted(weaklink.__all__))


def _schema_list() -> str:
    return "".join(f"* [{name}]({_schema_file(name)})\n" for name in SCHEMAS)


def _schema_file(name: str) -> str:
    return f"schemas/{name.replace(' ', '-')}.schema.json"


def _site_text(page: Path) -> str:
    return LINK.sub(lambda link: f"]({_site_link(page, link['path'])}{link['anchor'] or ''})", page.read_text("utf-8"))


def _site_link(page: Path, link: str) -> str:
    """A link of a page, from that page on the site."""
    if not link:
        return ""
    target = Path(os.path.normpath(page.parent / link))
    if target == README:
        return os.path.relpath(DOCS / "index.md", page.parent)
    if target.is_relative_to(DOCS):
        return os.path.relpath(target, DOCS if page == README else page.parent)
    return f"{HOST}/{'tree' if target.is_dir() else 'blob'}/main/{target.relative_to(ROOT).as_posix()}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
