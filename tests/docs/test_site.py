"""The pages of the documentation site say what the catalogue and weaklink say, and lead only to what exists."""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.docs.rule_pages import rule_page
from tests.docs.site import DOCS, HOST, LINK, ROOT, pages
from weaklink.inspector.rules.catalogue import RULES
from weaklink.inspector.rules.rule import Rule


@pytest.fixture(scope="module")
def site() -> Mapping[str, str]:
    return pages()


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_page_shows_the_rule_at_work(rule: Rule) -> None:
    fails = rule_page(rule, "").partition("## Fails")[2].partition("## Passes")[0]
    assert f"{rule.severity.value}[{rule.code}] {rule.name}" in re.sub(r"\s*\n[ │]*", " ", fails)


def test_every_link_on_the_site_leads_to_a_page_a_picture_or_a_file_of_the_repository(site: Mapping[str, str]) -> None:
    known = {*site, *(path.relative_to(DOCS).as_posix() for path in (DOCS / "pictures").iterdir())}
    links = [(name, link["path"]) for name, text in site.items() for link in LINK.finditer(text) if link["path"]]
    assert len(links) > 100
    assert [(name, link) for name, link in links if os.path.normpath(Path(name).parent / link) not in known] == []
    addresses = [address for text in site.values() for address in re.findall(rf"\]\({HOST}/\w+/main/([^)#]*)", text)]
    assert len(addresses) > len(RULES)
    assert [address for address in addresses if not (ROOT / address).exists()] == []


def test_the_navigation_has_every_page_once_but_those_of_rules(site: Mapping[str, str]) -> None:
    project = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    listed = re.findall(r"'([\w/.-]+\.md)'", str(project["nav"]))
    assert sorted(listed) == sorted(name for name in site if not name.startswith(("rules/", "schemas/")))
