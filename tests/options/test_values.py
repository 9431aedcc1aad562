from __future__ import annotations

import os
import stat

import pytest

from nbtune.errors import OptionError


@pytest.mark.parametrize(
    ("line", "out", "out_all"),
    [
        ("", (), ()),
        ("--out model,history", ("model", "history"), ()),
        ("--out 'model, history'", ("model", "history"), ()),
        ("--out loss@all", (), ("loss",)),
        ("--out model,loss@all --out acc", ("model", "acc"), ("loss",)),
        ("--out a,a --out a", ("a",), ()),
        ("--out '*'", ("*",), ()),
        ("--out *", ("*",), ()),
        ("--out *,loss@all", ("*",), ("loss",)),
        ("--out größe,_x", ("größe", "_x"), ()),
        ("--out ''", (), ()),
    ],
)
def test_names_to_bring_back(read, line, out, out_all):
    options = read(line)
    assert (options.out, options.out_all) == (out, out_all)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("1a", "'1a' is not a name"),
        ("a,,b", "'' is not a name"),
        ("a.b", "'a.b' is not a name"),
        ("a-b", "'a-b' is not a name"),
        ("class", "'class' is not a name"),
        ("a@rank0", "after @ comes all, as in a@all"),
        ("a@", "after @ comes all"),
        ("@all", "'@all' is not a name"),
        ("*@all", "'*@all' is not a name"),
        ("a,a@all", "a and a@all: choose one"),
        ("x" * 5000 + "!", "is not a name"),
    ],
)
def test_what_is_no_name_is_refused(read, value, message):
    with pytest.raises(OptionError) as caught:
        read(f"--out '{value}'")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500


def test_environment_variables_are_collected(read):
    options = read("--env A=1 --env 'B=x = y' --env=C= --env A=2")
    assert options.env == {"A": "2", "B": "x = y", "C": ""}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("A", "write NAME=VALUE"),
        ("", "write NAME=VALUE"),
        ("=1", "'' cannot name"),
        ("1A=1", "'1A' cannot name"),
        ("A B=1", "'A B' cannot name"),
        ("A=\0", "cannot name"),
        ("RANK=1", "it is each rank's own"),
        ("MASTER_PORT=1", "use --master-port"),
        ("PET_TEE=1", "write the option itself"),
    ],
)
def test_what_is_no_environment_variable_is_refused(read, value, message):
    with pytest.raises(OptionError) as caught:
        read(f"--env '{value}'")
    assert message in str(caught.value)


def test_a_time_limit_is_a_number_of_seconds(read):
    assert read("").timeout is None
    assert read("--timeout 0.5").timeout == 0.5
    assert read("--timeout=1e3").timeout == 1000


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "soon", "''", "1h"])
def test_what_is_no_time_limit_is_refused(read, value):
    with pytest.raises(OptionError, match=r"--timeout .*number"):
        read(f"--timeout {value}")


@pytest.mark.parametrize(
    ("value", "ranks"),
    [("all", None), ("0", {0}), ("0,2", {0, 2}), ("'1, 2'", {1, 2}), ("2,2", {2})],
)
def test_ranks_to_show(read, value, ranks):
    assert read(f"--nproc 3 --show-ranks {value}").show_ranks == ranks
    assert read("--nproc 3").show_ranks is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0,3", "there is no rank 3, the job has ranks 0 to 2"),
        ("-1", "ranks are numbers"),
        ("some", "ranks are numbers"),
        ("0,", "ranks are numbers"),
        ("''", "ranks are numbers"),
        ("9" * 5000, "ranks are numbers"),
    ],
)
def test_ranks_that_are_not_there_are_refused(read, value, message):
    with pytest.raises(OptionError, match=message):
        read(f"--nproc 3 --show-ranks {value}")


def test_the_only_rank_is_named(read):
    with pytest.raises(OptionError, match="the job has only rank 0"):
        read("--show-ranks 1")


@pytest.mark.parametrize(
    "line",
    [
        "--max-restarts 3",
        "--monitor-interval 0.5",
        "--shutdown-timeout 5",
        "--start-method forkserver",
        "--redirects 3",
        "--redirects 0:1,1:2",
        "--tee 0:3",
        "--local-ranks-filter 0,1",
        "--duplicate-stdout-filters loss,,x,acc",
        "--duplicate-stderr-filters=-x",
        "--signals-to-handle SIGTERM,SIGUSR1",
        "--numa-binding node",
        "--event-log-handler console",
        "--role trainer",
        "--virtual-local-rank",
        "--rdzv-conf timeout=30,join_timeout=5",
    ],
)
def test_torchruns_values_are_passed_on(read, line):
    words = line.split()
    assert set(words) <= set(read(line).argv)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--max-restarts -1", "--max-restarts -1: at least 0"),
        ("--max-restarts two", "--max-restarts two: a whole number"),
        ("--max-restarts 1.5", "--max-restarts 1.5: a whole number"),
        ("--max-restarts ''", "--max-restarts '': a whole number"),
        ("--monitor-interval fast", "--monitor-interval fast: a number"),
        ("--monitor-interval -1", "--monitor-interval -1: a number of zero"),
        ("--shutdown-timeout -1", "--shutdown-timeout -1: at least 0"),
        ("--start-method frok", "did you mean fork?"),
        ("--numa-binding x", "it is one of node"),
        ("--event-log-handler x", "it is one of console"),
        ("--redirects 4", "0 none, 1 stdout"),
        ("--redirects 10:1", "0 none, 1 stdout"),
        ("--tee 0:1,", "0 none, 1 stdout"),
        ("--tee ''", "--tee '': 0 none"),
        ("--local-ranks-filter a", "ranks are numbers"),
        ("--signals-to-handle SIGTERM,SIGUSR", "there is no signal 'SIGUSR'"),
        ("--nnodes 2", "several machines are not supported yet"),
        ("--nnodes 1:2", "several machines are not supported yet"),
        ("--nnodes two", "a number of machines is needed"),
        ("--node-rank 1", "one machine has node rank 0 only"),
        ("--rdzv-conf timeout", "write KEY=VALUE"),
        ("--module", "--module: a cell cannot use it"),
        ("-m", "--module: a cell cannot use it"),
        ("--no-python", "--no-python: a cell cannot use it"),
        ("--run_path", "--run-path: a cell cannot use it"),
        ("--logs-specs mine", "--logs-specs mine: a cell cannot use it"),
    ],
)
def test_a_value_that_torch_would_refuse_is_one_line(read, line, message):
    with pytest.raises(OptionError) as caught:
        read(line)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PET_MAX_RESTARTS", "two"),
        ("PET_START_METHOD", "frok"),
        ("PET_NNODES", "2"),
        ("PET_TEE", "9"),
        ("PET_NPROC_PER_NODE", "0"),
        ("PET_LOG_DIR", "/dev/zero/x"),
    ],
)
def test_an_error_in_the_environment_names_the_variable(read, variable, value):
    with pytest.raises(OptionError, match=variable):
        read("", environ={variable: value})


def test_a_folder_for_logs_is_made_absolute(read, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = read("--log-dir 'my \"logs\"/x'")
    assert options.log_dir == str(tmp_path / 'my "logs"' / "x")
    assert options.log_dir in options.argv


def test_a_trial_of_the_folder_leaves_nothing(read, tmp_path):
    read(f"--log-dir {tmp_path}/a/b/c")
    (tmp_path / "kept").mkdir()
    read(f"--log-dir {tmp_path}/kept")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_tilde_is_the_home(read, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read("--log-dir ~/runs").log_dir == str(tmp_path / "runs")


def test_no_folder_at_all_is_torchs_way_to_say_none(read):
    options = read("--log-dir /dev/null")
    assert options.log_dir == ""
    assert "--log-dir" not in options.argv


@pytest.mark.parametrize("where", ["file", "file/x", "x" * 300, "''", "a\0b"])
def test_a_folder_that_cannot_be_is_one_line(read, tmp_path, monkeypatch, where):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError) as caught:
        read(f"--log-dir {where}")
    assert str(caught.value).startswith("--log-dir")
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_one_line(read, tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(OptionError, match=f"{tmp_path}/x cannot be written, Perm"):
        read(f"--log-dir {tmp_path}/x")
