"""`import weaklink`: what it exports, what it loads, and that its types reach the user."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import Struct

import weaklink
from tests import typed_example
from tests.test_wheel import FOLDERS
from weaklink import inspector
from weaklink.inspector.formats import registry
from weaklink.inspector.pytest_plugin import Weaklink

ROOT = Path(__file__).parents[1]


def test_it_exports_what_the_inspector_exports() -> None:
    assert sorted(weaklink.__all__) == sorted(inspector.__all__)
    assert dir(weaklink) == sorted(weaklink.__all__)
    for name in inspector.__all__:
        assert getattr(weaklink, name) is getattr(inspector, name)


def test_a_name_that_is_not_public_is_missing() -> None:
    for name in ("import_module", "_public_names", "nope", "__wrapped__"):
        assert not hasattr(weaklink, name)


def test_import_alone_loads_the_package_and_nothing_else_but_the_standard_library() -> None:
    script = "import sys; before = set(sys.modules); import weaklink; print(*set(sys.modules) - before)"
    loaded = set(subprocess.check_output([sys.executable, "-S", "-c", script], cwd=ROOT / "src", text=True).split())
    ours = {name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names}
    assert ours == {"weaklink"}
    assert len(loaded) < 40


@pytest.mark.parametrize("package", FOLDERS)
def test_a_package_says_that_it_has_types(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


def test_the_typed_example_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    assert typed_example.faults_of(typed_example.BROKEN) == ["trailing-comma"]
    assert typed_example.kinds_of(["<thi", "nk>a</think>b"]) == ["reasoning", "text"]
    assert typed_example.status_of(typed_example.BROKEN) == "broken"
    assert typed_example.names_of(typed_example.recorded(tmp_path / "runs.jsonl")) == ["Hermes-4"]
    assert typed_example.names_of(tmp_path / "none.jsonl") == []
    typed_example.checked(Weaklink())
    with pytest.raises(AttributeError, match="import_own_package"):
        typed_example.private()
    weaklink.register_format(typed_example.ACME)
    assert weaklink.segment('<<call>>{"name": "f", "arguments": {}}<<end>>', "acme_typed").calls[0].name == "f"


def test_the_classes_have_signatures() -> None:
    classes = [struct for name in weaklink.__all__ if isinstance(struct := getattr(weaklink, name), type)]
    structs = [struct_class for struct_class in classes if issubclass(struct_class, Struct)]
    assert len(structs) > 10
    for struct in structs:
        assert list(inspect.signature(struct).parameters) == list(struct.__struct_fields__)
