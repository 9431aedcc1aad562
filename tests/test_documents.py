"""What the documents say is so."""

from __future__ import annotations

import builtins
import inspect
import os
import re
import sys
import tomllib
from pathlib import Path

import IPython.core.error
import nbformat
import pytest
from packaging.requirements import Requirement

import nbtune
from nbtune import errors
from nbtune.job import Home, Job
from nbtune.launcher.monitor import GRACE
from nbtune.options import HelpRequested, load_table, parse
from nbtune.options.own import OWN
from nbtune.supervisor.ladder import WAITS, Step

_ROOT = Path(__file__).parents[1]
_README = (_ROOT / "README.md").read_text("utf-8")
_CONTRIBUTING = (_ROOT / "CONTRIBUTING.md").read_text("utf-8")
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))
_CI = _ROOT / ".ci" / "run"
_DOCUMENTS = sorted(_ROOT.glob("*.md"))
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_PATH = re.compile(r"(?<![\w/.])((?:nbtune|tests|notebooks|\.ci|record)/[\w./*-]+)")


def _commands() -> list[str]:
    """The README's shell commands, continued lines joined."""
    blocks: list[str] = re.findall(r"```bash\n(.*?)```", _README, re.DOTALL)
    return [re.sub(r"\s*\\\n\s*", " ", block).strip() for block in blocks]


def _one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("document", _DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    links = _LINK.findall(document.read_text("utf-8"))
    local = [link.split("#")[0] for link in links if "://" not in link]
    assert [link for link in local if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", _DOCUMENTS, ids=lambda path: path.name)
def test_every_path_that_is_named_exists(document: Path) -> None:
    named = {path.rstrip(".") for path in _PATH.findall(document.read_text("utf-8"))}
    missing = [
        path
        for path in named
        if not (list(_ROOT.glob(path)) or list((_ROOT / "nbtune").glob(path)))
    ]
    assert missing == []


def test_the_readme_has_two_commands() -> None:
    run, test = _commands()
    assert "notebooks/quickstart.ipynb" in run
    assert "pytest" in test
    # The variable, unlike -c, holds for what builds the wheel as well.
    assert all("PIP_CONSTRAINT=constraints.txt" in c for c in (run, test))


def test_ci_runs_the_second_command_and_nothing_else() -> None:
    lines = re.sub(r"\s*\\\n\s*", " ", _CI.read_text("utf-8")).splitlines()
    code = [line for line in lines if line and not line.startswith("#")]
    strict, folder, command = code
    assert strict == "set -euo pipefail"
    assert folder == 'cd "$(dirname "$0")/.."'
    assert command == _commands()[1]
    assert os.access(_CI, os.X_OK)


def test_the_readme_names_only_what_nbtune_has() -> None:
    named = set(re.findall(r"\bnbtune\.(\w+)", _README))
    assert [name for name in named if not hasattr(nbtune, name)] == []
    spoken = set(re.findall(r"\b([A-Z]\w+Error)\b", _README))
    homes = (errors, builtins, IPython.core.error)
    assert [n for n in spoken if not any(hasattr(home, n) for home in homes)] == []


def test_the_readme_lists_what_an_error_of_a_rank_says() -> None:
    documented = inspect.getdoc(errors.WorkerError) or ""
    attributes = re.findall(r"^    (\w+): ", documented, re.MULTILINE)
    assert "exitcode" in attributes
    assert [name for name in attributes if f"`{name}`" not in _README] == []


def test_the_readme_lists_our_options() -> None:
    flags = {flag for option in OWN for flag in option.flags}
    assert {flag for flag in flags if flag not in _README} == set()


def test_the_readme_names_only_options_that_the_help_lists(tmp_path: Path) -> None:
    table = load_table(tmp_path, sys.executable)
    with pytest.raises(HelpRequested) as asked:
        parse("--help", table=table, namespace={}, environ={})
    prose = re.sub(r"```bash\n.*?```", "", _README, flags=re.DOTALL)
    named = set(re.findall(r"--[a-z][\w-]*", prose))
    assert {"--out", "--nproc_per_node"} <= named
    # Torchrun's help has the dashes of the parser, its users the other spelling too.
    listed = set(re.findall(r"--[a-z][\w-]*", asked.value.text.replace("_", "-")))
    assert {n for n in named if n.replace("_", "-") not in listed} <= {"--clear"}


def test_the_readme_names_methods_that_a_job_has() -> None:
    named = re.findall(r"\bjob\.(\w+)", _README)
    assert "result" in named
    assert [name for name in named if not hasattr(Job, name)] == []


def test_the_readme_says_the_waits_of_an_interrupt() -> None:
    first, second = (
        f"{WAITS[step]:.0f} s" for step in (Step.INTERRUPT, Step.TERMINATE)
    )
    assert f"SIGTERM after {first}" in _one_line(_README)
    assert f"SIGKILL after {second} more" in _one_line(_README)
    assert f"SIGTERM at once and SIGKILL after {second}" in _one_line(_README)


def test_the_readme_says_how_long_other_ranks_have_after_a_failure() -> None:
    text = f"the others get SIGTERM at once and SIGKILL after {GRACE:.0f} s"
    assert text in _one_line(_README)


def test_the_readme_says_the_settings_and_their_defaults(tmp_path: Path) -> None:
    home = Home.of_environment({"NBTUNE_HOME": str(tmp_path)})
    text = _one_line(_README)
    assert f"`NBTUNE_KEEP_JOBS` ({home.keep_jobs})" in text
    assert f"`NBTUNE_KEEP_MB` ({home.keep_bytes // 1_000_000})" in text


def test_contributing_shows_the_rooms_in_the_order_that_is_checked() -> None:
    contract = _PROJECT["tool"]["importlinter"]["contracts"][0]
    drawn = re.search(r"```\n(magics.*?)```", _CONTRIBUTING, re.DOTALL)
    assert drawn is not None
    assert [room.strip() for room in drawn[1].split("->")] == contract["layers"]


def test_contributing_has_a_reason_for_each_dependency() -> None:
    project = _PROJECT["project"]
    extras = project["optional-dependencies"].values()
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    declared = {Requirement(line).name for line in lines}
    rows = re.findall(r"^\| ([a-z][\w, -]*) \|", _CONTRIBUTING, re.MULTILINE)
    reasoned = {name for row in rows for name in row.split(", ")} - {"package"}
    assert reasoned == declared


def test_the_quickstart_is_stored_without_outputs() -> None:
    book = nbformat.read(_ROOT / "notebooks" / "quickstart.ipynb", 4)
    nbformat.validate(book)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    assert [c for c in cells if c.outputs or c.execution_count is not None] == []
