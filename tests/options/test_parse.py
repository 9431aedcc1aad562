from __future__ import annotations

import random
import shlex
import subprocess
import sys

import pytest

from nbtune.errors import OptionError
from nbtune.options import HelpRequested, join_continuation

WHOLE = (
    "--nproc_per_node {n} --max-restarts=1 -t 3 --role 'a b' --log-dir {folder} "
    "--duplicate-stdout-filters=-x,y --out model,loss@all --env A=1 --timeout 60 "
    '--show-ranks 0 --name "run {n}" --dry-run --virtual-local-rank'
)
# Reads an argv with torch's own parser and makes torch's own configuration of it.
THEIRS = """
import sys
from torch.distributed.run import config_from_args, parse_args
config = config_from_args(parse_args(sys.argv[1:]))[0]
print(config.nproc_per_node, config.max_restarts, config.role)
print(config.duplicate_stdout_filters, config.virtual_local_rank)
"""


def test_a_whole_line_is_read(read, tmp_path):
    options = read(WHOLE, names={"n": 2, "folder": tmp_path})
    assert options.nproc == 2
    assert options.loopback_port == 0
    assert options.max_restarts == 1
    assert (options.out, options.out_all) == (("model",), ("loss",))
    assert options.env == {"A": "1"}
    assert options.timeout == 60
    assert options.show_ranks == {0}
    assert options.name == "run 2"
    assert options.dry_run
    assert options.log_dir == str(tmp_path)
    assert options.notes == ()


def test_torch_takes_the_argv_as_it_is(read, tmp_path):
    options = read(WHOLE, names={"n": 2, "folder": tmp_path})
    done = subprocess.run(
        [sys.executable, "-c", THEIRS, *options.argv, "cell.py"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == ["2 1 a b", "['-x', 'y'] True"]


def test_the_command_is_a_line_for_a_shell(read, tmp_path):
    options = read(WHOLE, names={"n": 2, "folder": tmp_path})
    words = shlex.split(options.command())
    assert words == ["A=1", "torchrun", "--standalone", *options.argv, "cell.py"]
    assert words[3:5] == ["--nproc-per-node", "2"]
    assert read("").command() == "torchrun --standalone --nproc-per-node 1 cell.py"


def test_options_may_go_on_below(read):
    line, body, count = join_continuation(
        "--nproc_per_node 2 \\", "    --max_restarts 1\nx = 1"
    )
    assert (read(line).nproc, read(line).max_restarts) == (2, 1)
    assert (body, count) == ("x = 1", 2)


def test_an_unknown_name_is_what_the_error_is_about(read):
    with pytest.raises(OptionError, match="`nope` is not a notebook variable"):
        read("--nproc_per_node {nope}")


def test_each_placeholder_is_filled_in_on_its_own(read):
    options = read("--nproc {n} --name '{kept}' --role {{x}}", names={"n": 2})
    assert options.nproc == 2
    assert options.name == "{kept}"
    assert "{x}" in options.argv


def test_a_comment_is_dropped(read):
    assert read("--nproc_per_node 2   # it's two ranks").nproc == 2


def test_the_line_overrides_the_defaults_and_both_the_environment(read):
    environ = {
        "PET_NPROC_PER_NODE": "5",
        "PET_TEE": "3",
        "PET_MAX_RESTARTS": "4",
        "PET_VIRTUAL_LOCAL_RANK": "1",
    }
    defaults = "--nproc 4 --max-restarts 2 --out a --name all"
    options = read("--nproc 3 --out b", defaults=defaults, environ=environ)
    assert (options.nproc, options.max_restarts) == (3, 2)
    assert (options.out, options.name) == (("b",), "all")
    assert options.notes == ("PET_TEE=3", "PET_VIRTUAL_LOCAL_RANK=1")
    assert {"--tee", "3", "--virtual-local-rank"} <= set(options.argv)


def test_variables_of_the_line_are_added_to_those_of_the_defaults(read):
    options = read("--env B=3 --env C=4", defaults="--env A=1 --env B=2")
    assert options.env == {"A": "1", "B": "3", "C": "4"}


def test_an_empty_list_of_names_takes_the_defaults_away(read):
    assert read("--out ''", defaults="--out a").out == ()


@pytest.mark.parametrize("defaults", ["--bogus", "--name '", "{nope}", "x", "--tee"])
def test_a_mistake_in_the_defaults_says_where_it_is(read, defaults):
    with pytest.raises(OptionError, match=r"\(in %torchrun_defaults\)$"):
        read("", defaults=defaults)


def test_a_wrong_value_in_the_defaults_says_where_it_is(read):
    with pytest.raises(OptionError, match="in %torchrun_defaults"):
        read("", defaults="--max-restarts x")


def test_help_comes_before_mistakes(read):
    with pytest.raises(HelpRequested) as caught:
        read("--nproc 0 --bogus -h")
    assert "--max-restarts" in caught.value.text


def test_script_variables_of_the_environment_are_no_use_to_a_cell(read):
    options = read("", environ={"PET_MODULE": "1", "PET_RUN_PATH": "0"})
    assert options.argv == ("--nproc-per-node", "1")
    assert options.notes == ("PET_MODULE=1 is not used: a cell has no script",)


def test_a_number_of_the_environment_is_noted_as_it_was_written(read):
    options = read("", environ={"PET_NPROC_PER_NODE": "cpu"})
    assert options.notes == ("PET_NPROC_PER_NODE=cpu",)
    assert options.argv == ("--nproc-per-node", str(options.nproc))


def test_any_line_gives_options_help_or_one_line_of_error(read, table, tmp_path):
    source = random.Random(3)
    flags = [flag for option in table.options for flag in option.flags]
    flags += ["--out", "--env", "--timeout", "--show-ranks", "--name", "--dry-run"]
    flags = [flag for flag in flags if flag not in {"--log-dir", "--log_dir"}]
    values = ["", "0", "1", "-1", "2", "a", "a=b", "0:1", "x,y", "1e9", "nan", "a@all"]
    values += ["localhost:1", "c10d", "static", "fork", "'", "$", "{a}", "*", "é", "--"]
    for _ in range(400):
        line = " ".join(
            f"{source.choice(flags)}{source.choice(' =')}{source.choice(values)}"
            for _ in range(source.randrange(4))
        )
        message = "none"
        try:
            assert read(line, names={"a": 2}).nproc >= 1
        except OptionError as error:
            message = str(error)
        except HelpRequested as wanted:
            message = wanted.text.splitlines()[0]
        assert message, line
        assert "\n" not in message, line
    assert list(tmp_path.iterdir()) == []
