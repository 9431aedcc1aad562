"""A real Jupyter kernel in a process of its own, spoken to as a notebook does."""

from __future__ import annotations

import ast
import contextlib
import os
import queue
import re
import shutil
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import psutil
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import KernelManager

import nbtune
from tests.cells import Cell, CellError, ranks, refusal

__all__ = ["Cell", "CellError", "Handle", "Kernel", "ranks", "refusal"]

_MARK = "NBTUNE_TEST_KERNEL"
# What would change the meaning of a case if the machine happened to set it.
_UNSET = re.compile(
    r"(OMP_NUM_THREADS|PYTHONUNBUFFERED|PYTHONPATH|TMPDIR|MASTER_(ADDR|PORT)"
    r"|(LOCAL_|GROUP_|ROLE_)?(RANK|WORLD_SIZE)|PET_.*|TORCHELASTIC_.*|NBTUNE_.*"
    r"|PYTEST_.*)"
)
# Not torchinductor_<user>: a cache that torch keeps for good, here as elsewhere.
_tables: dict[str, bytes] = {}
_LEFT_BY_US = re.compile(r"(nbtune|torch(?!inductor_)|pymp).*")


class Handle:
    """A cell that was started and not waited for."""

    def __init__(self, kernel: Kernel, cell: Cell) -> None:
        self._kernel = kernel
        self.cell = cell

    def wait(self, timeout: float = 60) -> Cell:
        """Wait for the end of the cell and return what it has put out."""
        self._kernel.pump(lambda: self.cell.done, timeout, self.cell)
        return self.cell


class _ThisPython(KernelSpecManager):
    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        command = [sys.executable, "-m", "ipykernel_launcher", "-f"]
        return KernelSpec(argv=[*command, "{connection_file}"], language=kernel_name)


class Kernel:
    """A kernel whose home, temporary folder and processes can be looked at.

    Args:
        folder: holds the kernel's home and log; the kernel works in it.
        env: variables to set in the kernel's environment; None unsets.
        cwd: another working directory.
    """

    def __init__(
        self,
        folder: Path,
        *,
        env: dict[str, str | None] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.log = folder / "kernel.log"
        # Short, because sockets in it must fit into 108 characters.
        self._short = Path(tempfile.mkdtemp(prefix="k"))
        self.temp = self._short / "t"
        self.temp.mkdir()
        self._lend_tables()
        self._mark = uuid.uuid4().hex
        self._shm = set(os.listdir("/dev/shm"))
        self._cells: dict[str, Cell] = {}
        # Not TCP: two test processes could be given the same free port.
        self._manager = KernelManager(
            kernel_spec_manager=_ThisPython(),
            transport="ipc",
            ip=str(self._short / "s"),
            connection_file=str(self._short / "connection.json"),
        )
        with self.log.open("wb") as log:
            self._manager.start_kernel(
                env=self._environ(env or {}),
                cwd=str(cwd or folder),
                stdout=log,
                stderr=log,
            )
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=60)

    def _lend_tables(self) -> None:
        """Read torchrun's options once for all kernels: it imports torch."""
        for name, data in _tables.items():
            (self.home / "cache").mkdir(parents=True, exist_ok=True)
            (self.home / "cache" / name).write_bytes(data)

    def _take_tables(self) -> None:
        if not _tables and (self.home / "cache").is_dir():
            for path in (self.home / "cache").iterdir():
                _tables[path.name] = path.read_bytes()

    def _environ(self, changes: dict[str, str | None]) -> dict[str, str]:
        source = str(Path(nbtune.__file__).parents[1])
        environ: dict[str, str | None] = {
            **{k: v for k, v in os.environ.items() if not _UNSET.fullmatch(k)},
            "NBTUNE_HOME": str(self.home),
            "IPYTHONDIR": str(self.folder / "ipython"),
            "PYTHONPATH": source,
            "TMPDIR": str(self.temp),
            _MARK: self._mark,
            **changes,
        }
        return {name: value for name, value in environ.items() if value is not None}

    @property
    def pid(self) -> int:
        """The kernel's process."""
        return self._manager.provisioner.pid

    @property
    def alive(self) -> bool:
        """Whether the kernel's process runs."""
        return self._manager.is_alive()

    @property
    def free(self) -> bool:
        """Whether the kernel runs and none of its cells does."""
        return self.alive and all(cell.done for cell in self._cells.values())

    def start(self, source: str) -> Handle:
        """Run a cell without waiting for it."""
        cell = Cell()
        message = self._client.execute(source, allow_stdin=False)
        self._cells[message] = cell
        return Handle(self, cell)

    def run(self, source: str, timeout: float = 60) -> Cell:
        """Run a cell and wait for its end, errors being part of the result."""
        return self.start(source).wait(timeout)

    def ok(self, source: str, timeout: float = 60) -> Cell:
        """Run a cell that must not end with an error."""
        cell = self.run(source, timeout)
        assert cell.error is None, f"{source}\n{cell.text}"
        return cell

    def value(self, expression: str) -> Any:
        """Return what *expression* is in the notebook; plain Python values only."""
        cell = Cell()
        message = self._client.execute(
            "",
            silent=True,
            user_expressions={"value": f"repr(({expression}))"},
            allow_stdin=False,
        )
        self._cells[message] = cell
        self.pump(lambda: cell.done, 60, cell)
        answer = (cell.reply or {})["user_expressions"]["value"]
        assert answer["status"] == "ok", f"{expression}: {answer.get('evalue')}"
        return ast.literal_eval(ast.literal_eval(answer["data"]["text/plain"]))

    def interrupt(self) -> None:
        """Press the stop button: SIGINT to the kernel's process group."""
        self._manager.interrupt_kernel()

    def wait_for_output(self, handle: Handle, text: str, timeout: float = 60) -> None:
        """Wait until *text* has appeared among the cell's output."""
        cell = handle.cell
        self.pump(lambda: text in cell.text or cell.done, timeout, cell)
        assert text in cell.text, f"the cell ended without {text!r}:\n{cell.text}"

    def pump(self, until: Any, timeout: float, cell: Cell) -> None:
        """Route the kernel's messages to their cells until a condition holds."""
        deadline = time.monotonic() + timeout
        while not until():
            if not self.alive:
                raise AssertionError(f"the kernel died:\n{self.log.read_text()}")
            assert time.monotonic() < deadline, f"over {timeout} s:\n{cell.text}"
            self._route()

    def _route(self) -> None:
        with contextlib.suppress(queue.Empty):
            message = self._client.get_iopub_msg(timeout=0.1)
            if cell := self._cells.get(message["parent_header"].get("msg_id", "")):
                cell.take(message["msg_type"], message["content"])
        with contextlib.suppress(queue.Empty):
            message = self._client.get_shell_msg(timeout=0)
            if cell := self._cells.get(message["parent_header"].get("msg_id", "")):
                cell.reply = message["content"]

    def jobs(self) -> list[str]:
        """The ids of all jobs that this kernel's home knows."""
        folder = self.home / "jobs"
        return sorted(os.listdir(folder)) if folder.exists() else []

    def refused(self, source: str, timeout: float = 60) -> str:
        """Run a cell that must be refused before a job starts; its message."""
        before = self.jobs()
        message = refusal(self.run(source, timeout))
        assert self.jobs() == before, "a refused cell has left a job behind"
        return message

    def processes(self) -> list[psutil.Process]:
        """All processes that came from this kernel, itself included."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get(_MARK) == self._mark:
                    found.append(process)
        return found

    def stop(self) -> list[str]:
        """Kill the kernel and return what it has left behind, in words."""
        self._take_tables()
        problems = []
        if self.alive:
            children = psutil.Process(self.pid).children()
            dead = [c for c in children if c.status() == psutil.STATUS_ZOMBIE]
            problems += [f"process {child.pid} was not reaped" for child in dead]
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._manager.context.destroy(linger=0)
        problems += [*self._end_processes(), *self._left_files()]
        shutil.rmtree(self._short)
        return problems

    def _end_processes(self) -> list[str]:
        deadline = time.monotonic() + 15
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        problems = []
        for process in left:
            with contextlib.suppress(psutil.Error):
                problems.append(f"left running: {process.pid} {process.cmdline()}")
                process.kill()
        return problems

    def _left_files(self) -> list[str]:
        temp = [n for n in os.listdir(self.temp) if _LEFT_BY_US.match(n)]
        # torch_<pid>_…: another test's kernel may be at work just now.
        shared = [
            name
            for name in set(os.listdir("/dev/shm")) - self._shm
            if _LEFT_BY_US.match(name)
            and not any(psutil.pid_exists(int(n)) for n in re.findall(r"\d+", name)[:1])
        ]
        return [f"left in {self.temp}: {temp}"] * bool(temp) + [
            f"left in /dev/shm: {shared}"
        ] * bool(shared)
