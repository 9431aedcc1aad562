"""Capture: what cannot travel is refused by name, before anything starts."""

from __future__ import annotations

import re

import pytest

from tests.kernels import Kernel, ranks


def test_cap_04_an_object_with_a_lock_inside_is_refused_with_the_path_to_it(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "import threading\n"
        "class Bag:\n"
        "    def __init__(self): self.inner = {'guard': threading.Lock()}\n"
        "bag = Bag()"
    )
    message = shared_kernel.refused("%%torchrun --nproc_per_node 2\nprint(bag)")
    assert "bag.inner['guard']" in message
    assert "_thread.lock" in message
    assert "in the cell" in message or "inside the cell" in message
    assert len(message.splitlines()) == 1


def test_cap_05_generators_and_iterators_are_refused_all_at_once(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "squares = (i * i for i in range(5))\n"
        "loader = torch.utils.data.DataLoader(torch.arange(8.), batch_size=2)\n"
        "it = iter(loader)"
    )
    message = shared_kernel.refused(
        "%%torchrun --nproc_per_node 2\nprint(next(squares)); print(next(it))"
    )
    assert "squares" in message
    assert "generator" in message
    assert re.search(r"\bit\b(?! is)", message)
    assert len(message.splitlines()) == 2
    assert "{}" not in message


def test_cap_05_a_dataloader_travels(shared_kernel: Kernel) -> None:
    shared_kernel.ok(
        "loader = torch.utils.data.DataLoader(torch.arange(8.), batch_size=4)"
    )
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\nprint([b.tolist() for b in loader])"
    )
    line = "[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]"
    assert ranks(cell.stdout) == {0: [line], 1: [line]}


def test_cap_06_an_open_file_is_refused_with_the_function_that_reaches_it(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "log = open('train.log', 'w')\ndef note(msg): log.write(msg)",
    )
    message = shared_kernel.refused("%%torchrun --nproc_per_node 2\nnote('hi')")
    shared_kernel.ok("log.close()")
    assert "log" in message
    assert "note" in message
    assert "train.log" in message or "TextIOWrapper" in message


def test_cap_06_connections_and_sockets_are_refused_by_name(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "import socket, sqlite3\n"
        "db = sqlite3.connect(':memory:'); sock = socket.socket()\n"
        "def ask(): return db, sock"
    )
    message = shared_kernel.refused("%%torchrun --nproc_per_node 2\nask()")
    shared_kernel.ok("sock.close(); db.close()")
    assert "sqlite3.Connection" in message
    assert "socket" in message
    assert message.count("ask") == 2


@pytest.mark.parametrize(
    ("make", "type_name"),
    [
        ("import threading; thing = threading.Condition()", "lock"),
        ("import weakref\nclass A: pass\na = A(); thing = weakref.ref(a)", "Reference"),
    ],
)
def test_cap_12_what_hides_state_of_the_process_is_refused_by_name(
    shared_kernel: Kernel, make: str, type_name: str
) -> None:
    shared_kernel.ok(make)
    message = shared_kernel.refused("%%torchrun --nproc_per_node 2\nprint(thing)")
    assert "thing" in message
    assert type_name.lower() in message.lower()


def test_cap_25_a_very_deep_structure_is_refused_and_the_kernel_survives(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("deep = None\nfor _ in range(100_000): deep = [deep]")
    pid = shared_kernel.pid
    limit = shared_kernel.value("__import__('sys').getrecursionlimit()")
    message = shared_kernel.refused("%%torchrun --nproc_per_node 2\nprint(type(deep))")
    assert "deep" in message.split(":")[0]
    assert len(message) < 500
    assert shared_kernel.value("1 + 1") == 2
    assert shared_kernel.pid == pid
    assert shared_kernel.value("__import__('sys').getrecursionlimit()") == limit
    cell = shared_kernel.ok("%%torchrun --nproc_per_node 2\nprint('next')")
    assert ranks(cell.stdout) == {0: ["next"], 1: ["next"]}
