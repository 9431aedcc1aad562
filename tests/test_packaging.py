"""What a user installs, and what loading it costs."""

from __future__ import annotations

import email
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import nbtune

_ROOT = Path(__file__).parents[1]
_LOAD = {
    "import": "import nbtune",
    "load_ext": (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "shell.run_line_magic('load_ext', 'nbtune')\n"
        "assert 'torchrun' in shell.magics_manager.magics['cell']"
    ),
}
_HEAVY = ("torch", "ipywidgets", "numpy", "multiprocessing")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel of this tree."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    done = subprocess.run(
        [*command, "-d", str(folder)],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def _metadata(wheel: zipfile.ZipFile) -> email.message.Message:
    (name,) = [name for name in wheel.namelist() if name.endswith("/METADATA")]
    return email.message_from_bytes(wheel.read(name))


def test_the_wheel_holds_every_module_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    source = {
        path.relative_to(_ROOT).as_posix()
        for path in (_ROOT / "nbtune").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == source


def test_the_wheel_says_that_it_is_typed(wheel: zipfile.ZipFile) -> None:
    assert "nbtune/py.typed" in wheel.namelist()
    assert "Typing :: Typed" in (_metadata(wheel).get_all("Classifier") or [])


def test_the_wheel_has_one_version_and_its_licence(wheel: zipfile.ZipFile) -> None:
    metadata = _metadata(wheel)
    assert metadata["Name"] == "nbtune"
    assert metadata["Version"] == nbtune.__version__
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert any(name.endswith("/LICENSE") for name in wheel.namelist())


def test_the_wheel_asks_for_what_the_project_declares(wheel: zipfile.ZipFile) -> None:
    metadata = _metadata(wheel)
    needed = metadata.get_all("Requires-Dist") or []
    names = {line.split(">=")[0] for line in needed if "extra ==" not in line}
    assert names == {"cloudpickle", "ipython", "ipywidgets", "platformdirs", "torch"}
    assert metadata["Requires-Python"] == ">=3.11"
    extras = metadata.get_all("Provides-Extra") or []
    assert sorted(extras) == ["quickstart", "test"]


def test_every_declared_package_is_pinned() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    declared = [line for lines in extras for line in lines] + project["dependencies"]
    lines = (_ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    known = {name.lower().replace("_", "-") for name in pinned}
    assert {line.split("==")[0].split(">=")[0] for line in declared} <= known
    assert pinned["torch"] == "2.13.0"


@pytest.mark.parametrize("way", _LOAD)
def test_loading_is_quiet_and_imports_nothing_heavy(tmp_path: Path, way: str) -> None:
    check = (
        f"import sys\n{_LOAD[way]}\n"
        f"heavy = [name for name in {_HEAVY} if name in sys.modules]\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", check],
        cwd=tmp_path,
        env={"PYTHONPATH": str(_ROOT), "IPYTHONDIR": str(tmp_path), "HOME": "/"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_public_name_is_there() -> None:
    assert [name for name in nbtune.__all__ if not hasattr(nbtune, name)] == []
