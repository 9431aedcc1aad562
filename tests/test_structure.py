"""What holds of the whole tree: where files are, how long they are, what tools say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_SOURCE = _ROOT / "nbtune"
_TESTS = _ROOT / "tests"
_TOP = {
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "constraints.txt",
    "nbtune",
    "notebooks",
    "pyproject.toml",
    "tests",
}
# Folders that mirror no room, and what they are.
_OTHER_FOLDERS = {
    "benchmarks": "the figures of the package as a whole",
    "cases": "situations from public reports, named by their ids",
    "notebooks": "the notebooks that users read",
}
# Tests that mirror no file, and what they look at.
_WHOLE = {
    "test_documents.py": "the Markdown files",
    "test_packaging.py": "the wheel and the pins",
    "test_structure.py": "the tree",
    "test_text_hosts.py": "the programs that run notebooks",
}
_LONGEST = 300  # lines
_VAGUE = {"common", "helpers", "misc", "tools", "util", "utils"}


def _tool(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        cwd=_ROOT,
        # The folder of this interpreter's scripts comes first.
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        check=False,
    )


def _python_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.py") if "__pycache__" not in path.parts]


@pytest.mark.skipif(not (_ROOT / ".git").exists(), reason="not a clone")
def test_the_top_level_holds_only_what_has_a_reason() -> None:
    done = _tool("git", "ls-files", "-z")
    assert done.returncode == 0, done.stderr
    assert {path.split("/")[0] for path in done.stdout.split("\0") if path} == _TOP


def test_no_file_is_over_the_limit() -> None:
    files = [*_python_files(_SOURCE), *_python_files(_TESTS)]
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in files}
    assert {path: n for path, n in lengths.items() if n > _LONGEST} == {}


def test_no_module_has_a_name_that_says_nothing() -> None:
    files = [*_SOURCE.rglob("*"), *_TESTS.rglob("*")]
    assert [path for path in files if path.stem in _VAGUE] == []


def test_each_test_file_mirrors_a_source_file() -> None:
    strays = []
    for path in _TESTS.rglob("test_*.py"):
        folder = path.relative_to(_TESTS).parent
        if folder.parts and folder.parts[0] in _OTHER_FOLDERS:
            continue
        name = path.name.removeprefix("test_")
        mirrored = (_SOURCE / folder / name).is_file()
        if not (mirrored or (not folder.parts and path.name in _WHOLE)):
            strays.append(path)
    assert strays == []


def test_each_folder_of_tests_has_a_room_or_a_reason() -> None:
    folders = {
        path.name
        for path in _TESTS.iterdir()
        if path.is_dir() and path.name != "__pycache__"
    }
    rooms = {path.parent.name for path in _SOURCE.glob("*/__init__.py")}
    assert folders - rooms <= set(_OTHER_FOLDERS)


def test_each_module_of_the_package_says_what_it_is_for() -> None:
    silent = [
        path
        for path in _python_files(_SOURCE)
        if not path.read_text("utf-8").lstrip().startswith('"""')
    ]
    assert silent == []


@pytest.mark.parametrize(
    "words",
    [
        ("ruff", "check", "--no-cache"),
        ("ruff", "format", "--no-cache", "--check"),
        ("mypy", "--cache-dir", os.devnull),
        ("lint-imports", "--no-cache"),
    ],
    ids=["ruff", "ruff-format", "mypy", "import-linter"],
)
@pytest.mark.slow
@pytest.mark.timeout(300)  # mypy reads torch's types, for minutes on a busy machine
def test_the_tools_find_nothing(words: tuple[str, ...]) -> None:
    done = _tool(*words)
    assert done.returncode == 0, done.stdout + done.stderr
