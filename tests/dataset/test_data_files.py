"""The files that a folder of training data has by its card, and how a config and a split are chosen."""

import json
from pathlib import Path

import pytest

from weaklink.inspector.dataset.data_files import find_data_files, find_set_files
from weaklink.inspector.errors import UnreadableFileError

_FILES = (
    "raw/notes.jsonl",
    "easy/train-0.jsonl",
    "easy/train-1.parquet",
    "easy/test.jsonl",
    "hard/train.jsonl",
    "hard/notes.csv",
    "all.jsonl",
)
_CARD = """
license: mit
configs:
- config_name: easy
  default: true
  data_files:
  - split: train
    path: "easy/train-*"
  - split: test
    path:
    - easy/test.jsonl
- config_name: hard
  data_dir: hard
  data_files:
    train: "*.jsonl"
    extra: [train.jsonl, ../gone]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in _FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('{"text": "a"}\n', encoding="utf-8")
    return tmp_path


def card(folder: Path, head: str, line_end: str = "\n") -> None:
    text = f"---\n{head.strip()}\n---\n# A set\n".replace("\n", line_end)
    (folder / "README.md").write_text(text, encoding="utf-8", newline="")


def files_found(folder: Path, choice: str = "") -> list[str]:
    return [Path(path).relative_to(folder).as_posix() for path in find_data_files([f"{folder}{choice}"])]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("choice", "files"),
    [
        ("", ["easy/train-0.jsonl", "easy/train-1.parquet", "easy/test.jsonl", "hard/train.jsonl"]),
        ("#easy", ["easy/train-0.jsonl", "easy/train-1.parquet", "easy/test.jsonl"]),
        ("#easy/test", ["easy/test.jsonl"]),
        ("#/train", ["easy/train-0.jsonl", "easy/train-1.parquet", "hard/train.jsonl"]),
        ("#hard/extra", ["hard/train.jsonl"]),
    ],
)
def test_a_card_says_which_files_a_folder_has(folder: Path, choice: str, files: list[str], line_end: str) -> None:
    card(folder, _CARD.replace(", ../gone", ""), line_end)
    assert files_found(folder, choice) == files
    assert [Path(path).relative_to(folder).as_posix() for path in find_set_files(f"{folder}{choice}") or ()] == files


@pytest.mark.parametrize(
    ("data_files", "files"),
    [
        ("all.jsonl", ["all.jsonl"]),
        ('"**/test.jsonl"', ["easy/test.jsonl"]),
        ("easy", ["easy/test.jsonl", "easy/train-0.jsonl", "easy/train-1.parquet"]),
        ("[all.jsonl, ./hard/train.jsonl, all.jsonl]", ["all.jsonl", "hard/train.jsonl"]),
        ("{split: test, path: all.jsonl}", ["all.jsonl"]),
        ("[{path: [all.jsonl, hard/*]}]", ["all.jsonl", "hard/train.jsonl"]),
        ("{train: all.jsonl, test: [easy/test.jsonl]}", ["all.jsonl", "easy/test.jsonl"]),
    ],
)
def test_data_files_take_each_form_of_the_hub(folder: Path, data_files: str, files: list[str]) -> None:
    card(folder, f"configs:\n- config_name: default\n  data_files: {data_files}")
    assert files_found(folder) == files


def test_a_config_without_data_files_has_all_below_its_folder(folder: Path) -> None:
    card(folder, "configs:\n- config_name: a\n  data_dir: easy\n- data_dir: hard/")
    assert files_found(folder, "#a") == ["easy/test.jsonl", "easy/train-0.jsonl", "easy/train-1.parquet"]
    assert files_found(folder, "#default") == ["hard/train.jsonl"]


def test_a_folder_whose_card_has_no_configs_is_searched(folder: Path) -> None:
    for head in ("license: mit", "a: [", "text: |\n  configs: none"):
        card(folder, head)
        assert files_found(folder) == sorted(name for name in _FILES if not name.endswith(".csv"))
        assert find_set_files(str(folder)) is None


def test_a_split_of_a_dataset_dict_is_chosen(folder: Path) -> None:
    (folder / "dataset_dict.json").write_text(json.dumps({"splits": ["easy", "hard"]}), encoding="utf-8")
    assert files_found(folder, "#/hard") == ["hard/train.jsonl"]
    with pytest.raises(UnreadableFileError, match="there is no split `test`; splits: `easy`, `hard`"):
        files_found(folder, "#/test")
    with pytest.raises(UnreadableFileError, match=r"a DatasetDict has no configs; write `.*#/SPLIT`"):
        files_found(folder, "#easy")


def test_a_file_with_the_sign_in_its_name_is_itself(folder: Path) -> None:
    (folder / "easy#test.jsonl").write_text("{}", encoding="utf-8")
    assert files_found(folder, "/easy#test.jsonl") == ["easy#test.jsonl"]


@pytest.mark.parametrize(
    ("head", "choice", "why"),
    [
        (_CARD, "", r"README.md: config `hard`: `hard/../gone` points outside the folder"),
        ("configs: [{data_files: /etc/x.jsonl}]", "", "points outside the folder"),
        ("configs: [{data_files: hf://datasets/a/b.jsonl}]", "", "points outside the folder"),
        ("configs: [{data_dir: .., data_files: a.jsonl}]", "", "points outside the folder"),
        ("configs: [{config_name: a, data_files: none-*}]", "", "config `a`: `none-\\*` matches no JSON lines"),
        ("configs: [{config_name: a, data_files: hard/*.csv}]", "", "matches no JSON lines"),
        ("configs: [{config_name: a, data_files: all.jsonl}]", "#b", "there is no config `b`; configs: `a`"),
        ("configs: [{config_name: a, data_files: all.jsonl}]", "#a/b", "there is no split `b`; splits: `train`"),
        ("configs: [{config_name: a}]", "#a/train", "there is no split `train`; splits: none"),
        ("license: mit\nconfigs: [", "", r"README.md:\d+: cannot parse the YAML header"),
        ("configs: 1", "", "`configs` is not a list of configs"),
        ("configs: [easy]", "", "config 1 is not an object"),
        ("configs: [{data_files: {train: 1}}]", "", "`data_files` contains an entry that is not a path pattern"),
        ("configs: [{data_dir: [a]}]", "", "config `default`: `data_dir` is not a path"),
        ("license: mit", "#a", "has no README.md with `configs`, and is not a DatasetDict"),
    ],
)
def test_what_a_card_says_wrong_is_an_error(folder: Path, head: str, choice: str, why: str) -> None:
    card(folder, head)
    with pytest.raises(UnreadableFileError, match=why):
        files_found(folder, choice)
