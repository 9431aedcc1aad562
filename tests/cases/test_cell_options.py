"""Cells: the magic line."""

from __future__ import annotations

import re

import pytest

from tests.kernels import Kernel, ranks


def test_cell_06_options_go_on_after_a_backslash(shared_kernel: Kernel) -> None:
    shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 \\\n    --max_restarts 1 \\\n  --out x\nx = 1"
    )
    assert shared_kernel.value("x") == 1


def test_cell_06_line_numbers_count_the_lines_of_the_options(
    shared_kernel: Kernel,
) -> None:
    cell = shared_kernel.run(
        "%%torchrun --nproc_per_node 2 \\\n    --max_restarts 0\nx = 1\nboom"
    )
    assert cell.error is not None
    assert cell.reply is not None
    number = cell.reply["execution_count"]
    assert f"Cell In[{number}], line 4\n" in cell.error.traceback
    assert re.search(r"-> 4 boom", cell.error.traceback)


@pytest.mark.parametrize("count", ["{n}", "$n", "{n + 1 - 1}"])
def test_cell_07_variables_on_the_magic_line_are_filled_in(
    shared_kernel: Kernel, count: str
) -> None:
    shared_kernel.ok("n = 2")
    cell = shared_kernel.ok(
        f"%%torchrun --nproc_per_node {count}\nprint(os.environ['RANK'])"
    )
    assert ranks(cell.stdout) == {0: ["0"], 1: ["1"]}


@pytest.mark.parametrize(
    "line", ["--nproc_per_node {nope}", "--nproc_per_node {n} --name $nope"]
)
def test_cell_07_an_unknown_variable_is_named(shared_kernel: Kernel, line: str) -> None:
    shared_kernel.ok("n = 2")
    message = shared_kernel.refused(f"%%torchrun {line}\nprint(1)")
    assert "nope" in message
    assert "invalid" not in message
    assert len(message.splitlines()) == 1


def test_cell_08_braces_and_dollars_in_the_body_stay_as_they_are(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out s\n"
        """v = 7; d = {"v": v}; s = f"{v} {{v}} $HOME {d['v']}\""""
    )
    assert shared_kernel.value("s") == "7 {v} $HOME 7"


def test_cell_09_quotes_blanks_apostrophes_and_backslashes_arrive(
    shared_kernel: Kernel,
) -> None:
    cell = shared_kernel.ok(
        """%%torchrun --nproc_per_node 2 --name "it's fine" --env MSG="it's fine" """
        r"""--env TAGS='[a, b]' --env OUT="my runs/x" --env WIN='C:\tmp\x'"""
        "\nprint([os.environ[n] for n in ('MSG', 'TAGS', 'OUT', 'WIN')])"
    )
    line = str(["it's fine", "[a, b]", "my runs/x", "C:\\tmp\\x"])
    assert ranks(cell.stdout) == {0: [line], 1: [line]}


def test_cell_09_an_unbalanced_quote_is_a_usage_line(shared_kernel: Kernel) -> None:
    message = shared_kernel.refused("%%torchrun --nproc_per_node 2 --name it's\nx = 1")
    assert "quot" in message
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    ("line", "wrong", "near"),
    [
        ("--nproc_per_node 2 --bogus 1", "--bogus", ""),
        ("--nproc_per_ndoe 2", "--nproc_per_ndoe", "nproc"),
        ("--nproc-per-node 2 --max-restrats 1", "--max-restrats", "max"),
        ("--nproc_per_node 2 --outs x", "--outs", "--out"),
    ],
)
def test_cell_11_an_unknown_option_is_named_with_near_matches(
    shared_kernel: Kernel, line: str, wrong: str, near: str
) -> None:
    shared_kernel.ok("x = 0")
    message = shared_kernel.refused(f"%%torchrun {line}\nx = 1")
    message = message.replace("_", "-")
    assert wrong.replace("_", "-") in message
    assert near in message.replace(wrong.replace("_", "-"), "", 1)
    assert "SystemExit" not in message
    assert len(message.splitlines()) == 1
    assert shared_kernel.value("x") == 0


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_cell_11_help_is_printed_and_nothing_runs(
    shared_kernel: Kernel, flag: str
) -> None:
    before = shared_kernel.jobs()
    cell = shared_kernel.ok(f"%%torchrun {flag}\nx = 1")
    for option in "--nproc-per-node", "--max-restarts", "--out", "--show-ranks":
        assert option in cell.stdout.replace("_", "-")
    assert cell.stderr == ""
    assert shared_kernel.jobs() == before


def test_cell_12_a_comment_after_the_options_is_dropped(shared_kernel: Kernel) -> None:
    shared_kernel.ok("%%torchrun --nproc_per_node 2 --out x   # two 'ranks\nx = 1")
    assert shared_kernel.value("x") == 1


def test_cell_12_a_number_sign_in_quotes_is_no_comment(shared_kernel: Kernel) -> None:
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 1 --env A='a # b' --env B=a#b # c\n"
        "print(os.environ['A'], os.environ['B'])"
    )
    assert ranks(cell.stdout) == {0: ["a # b a#b"]}


def test_cell_13_a_syntax_error_is_found_before_the_launch(
    shared_kernel: Kernel,
) -> None:
    before = shared_kernel.jobs()
    cell = shared_kernel.run("%%torchrun --nproc_per_node 2\nx = (1,")
    assert cell.error is not None
    assert cell.error.ename == "SyntaxError"
    assert cell.reply is not None
    number = cell.reply["execution_count"]
    assert f"Cell In[{number}], line 2\n" in cell.error.traceback
    assert "x = (1," in cell.error.traceback
    assert "nbtune" not in cell.error.traceback
    assert shared_kernel.jobs() == before


@pytest.mark.parametrize("body", ["return 1", "x = 1\n  y = 2", "f(a=1, a=2)", "1 = x"])
def test_cell_13_errors_of_the_compiler_are_found_too(
    shared_kernel: Kernel, body: str
) -> None:
    before = shared_kernel.jobs()
    cell = shared_kernel.run(f"%%torchrun --nproc_per_node 2\n{body}")
    assert cell.error is not None
    assert cell.error.ename in {"SyntaxError", "IndentationError"}
    assert shared_kernel.jobs() == before
