"""What a user installs, and what loading it costs."""

from __future__ import annotations

import email
import importlib.metadata
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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


def _python(source: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        cwd=folder,
        env={"PYTHONPATH": str(_ROOT), "IPYTHONDIR": str(folder), "HOME": "/"},
        capture_output=True,
        text=True,
        check=False,
    )


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


def _pins() -> dict[str, str]:
    lines = (_ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}


def _declared() -> list[Requirement]:
    content = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))
    project = content["project"]
    extras = project["optional-dependencies"].values()
    lines = [*content["build-system"]["requires"], *project["dependencies"]]
    return [Requirement(line) for line in [*lines, *(x for y in extras for x in y)]]


def _needed_by(requirement: Requirement) -> list[Requirement]:
    """What an installed package asks for, on this machine."""
    lines = importlib.metadata.requires(requirement.name) or []
    return [
        needed
        for needed in map(Requirement, lines)
        if needed.marker is None
        or any(
            needed.marker.evaluate({"extra": extra})
            for extra in ("", *requirement.extras)
        )
    ]


def test_everything_that_is_installed_is_pinned() -> None:
    pins = _pins()
    left, seen, loose = _declared(), set(), set()
    while left:
        requirement = left.pop()
        name = canonicalize_name(requirement.name)
        # Another build of torch brings other libraries.
        if str(requirement) in seen or name.startswith(("nvidia-", "cuda-")):
            continue
        seen.add(str(requirement))
        if name not in pins:
            loose.add(name)
        left += _needed_by(requirement)
    assert loose == set()


def test_the_pins_fit_what_the_project_declares() -> None:
    pins = _pins()
    assert pins["torch"] == "2.13.0"
    unfit = [r for r in _declared() if not r.specifier.contains(pins[r.name])]
    assert unfit == []


@pytest.mark.parametrize("way", _LOAD)
def test_loading_is_quiet_and_imports_nothing_heavy(tmp_path: Path, way: str) -> None:
    check = (
        f"import sys\n{_LOAD[way]}\n"
        f"heavy = [name for name in {_HEAVY} if name in sys.modules]\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    done = _python(check, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_extension_can_be_unloaded_and_loaded_again(tmp_path: Path) -> None:
    source = (
        f"{_LOAD['load_ext']}\n"
        "def names():\n"
        "    kinds = shell.magics_manager.magics.values()\n"
        "    return sorted(n for kind in kinds for n in kind if 'torchrun' in n)\n"
        "for step in ('reload_ext', 'unload_ext', 'load_ext'):\n"
        "    shell.run_line_magic(step, 'nbtune')\n"
        "    print(step, *names())\n"
    )
    done = _python(source, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "reload_ext torchrun torchrun_defaults",
        "unload_ext",
        "load_ext torchrun torchrun_defaults",
    ]


def test_every_public_name_is_there() -> None:
    assert [name for name in nbtune.__all__ if not hasattr(nbtune, name)] == []
