from __future__ import annotations

import socket

import pytest

from nbtune.errors import OptionError


@pytest.fixture
def taken():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.fixture
def free():
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return trial.getsockname()[1]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--standalone",
        "--master-port 0",
        "--standalone --master_port 0",
        "--standalone --rdzv-backend c10d",
        "--standalone --nnodes 1 --node-rank 0",
        "--standalone --master-addr 127.0.0.1",
        "--rdzv-backend static",
        "--master-addr localhost",
        "--nnodes 1:1",
        "--local-addr 127.0.0.1",
    ],
)
def test_a_free_port_of_ours_is_the_default(read, line):
    options = read(line)
    assert options.loopback_port == 0
    assert options.command().startswith("torchrun --standalone ")
    assert "master" not in options.command()
    assert "backend" not in options.command()


def test_a_run_id_is_kept_in_the_command_of_a_free_port(read):
    options = read("--rdzv-id mine")
    assert options.loopback_port == 0
    assert "--standalone" not in options.command()
    assert "--rdzv-endpoint localhost:0" in options.command()
    assert "--rdzv-id mine" in options.command()


def test_a_loopback_port_that_is_named_is_ours_and_exact(read, free):
    for line in (
        f"--master-port {free}",
        f"--master_addr localhost --master_port={free}",
        f"--rdzv-endpoint 127.0.0.1:{free}",
        f"--rdzv-backend static --rdzv_endpoint localhost:{free}",
    ):
        options = read(line)
        assert options.loopback_port == free
        assert str(free) in options.command()


@pytest.mark.parametrize(
    "line",
    [
        "--rdzv-backend c10d",
        "--rdzv-backend c10d --rdzv-endpoint localhost:0",
        "--rdzv-backend c10d --rdzv-endpoint otherhost",
        "--rdzv-backend c10d --rdzv-endpoint /tmp/f --rdzv-conf store_type=file",
        "--rdzv-backend etcd --rdzv-endpoint otherhost:2379",
        "--master-addr otherhost --master-port 29500",
        "--rdzv-endpoint [::1]:29500",
    ],
)
def test_what_else_is_named_is_left_to_torch(read, line):
    options = read(line)
    assert options.loopback_port is None
    flags = [word.partition(" ")[0] for word in line.split() if word[:2] == "--"]
    assert set(flags) <= set(options.argv)


def test_a_local_address_gets_a_free_port_from_torch(read):
    options = read("--standalone --local-addr 10.0.0.1")
    assert options.loopback_port is None
    assert "--rdzv-backend c10d --rdzv-endpoint localhost:0" in options.command()
    assert "--local-addr 10.0.0.1" in options.command()


def test_a_port_in_use_is_one_line_with_the_way_out(read, taken):
    cases = {
        f"--master-port {taken}": "--master-port",
        f"--rdzv-endpoint localhost:{taken}": "--rdzv-endpoint",
    }
    for line, source in cases.items():
        with pytest.raises(OptionError) as caught:
            read(line)
        assert str(caught.value) == (
            f"port {taken} is in use (from {source}); leave it out to get a free one"
        )


def test_a_port_in_use_for_c10d_is_told_too(read, taken):
    with pytest.raises(OptionError, match=f"port {taken} is in use"):
        read(f"--rdzv-backend c10d --rdzv-endpoint localhost:{taken}")


def test_a_c10d_store_of_another_process_may_be_in_use(read, taken):
    line = f"--rdzv-backend c10d --rdzv-endpoint localhost:{taken}"
    assert read(f"{line} --rdzv-conf is_host=0").loopback_port is None


def test_a_port_from_the_environment_names_the_variable(read, taken):
    with pytest.raises(OptionError) as caught:
        read("--nproc 2", environ={"PET_MASTER_PORT": str(taken)})
    assert str(caught.value) == (
        f"port {taken} is in use (from PET_MASTER_PORT); leave it out to get a free one"
    )


def test_a_port_from_the_defaults_says_so(read, taken):
    with pytest.raises(OptionError, match="in %torchrun_defaults"):
        read("", defaults=f"--master-port {taken}")


@pytest.mark.parametrize(
    "line",
    [
        "--standalone --master-port 29611",
        "--standalone --rdzv-endpoint localhost:29611",
        "--standalone --rdzv-id x",
        "--standalone --rdzv-backend etcd",
        "--standalone --rdzv-backend static",
        "--standalone --master-addr otherhost",
        "--rdzv-backend c10d --master-port 29611",
        "--rdzv-backend c10d --master-addr otherhost",
        "--rdzv-endpoint localhost:29611 --master-port 29612",
        "--rdzv-endpoint localhost:29611 --master-addr otherhost",
    ],
)
def test_an_option_that_another_would_override_is_an_error(read, line):
    for where in ({"line": line}, {"line": "", "defaults": line}):
        with pytest.raises(OptionError, match="has no effect next to") as caught:
            read(**where)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--rdzv-endpoint localhost:0", "the static rendezvous needs a port"),
        ("--rdzv-endpoint localhost", "the static rendezvous needs a port"),
        ("--rdzv-endpoint localhost:99999", "a port is a number from 0 to 65535"),
        ("--rdzv-endpoint localhost:x", "a port is a number"),
        (f"--rdzv-endpoint localhost:{'9' * 5000}", "a port is a number"),
        ("--rdzv-endpoint 'a b:1'", "write HOST:PORT"),
        ("--rdzv-endpoint ''", "write HOST:PORT"),
        ("--master-port 65536", "a port is a number from 0 to 65535"),
        ("--master-port x", "a whole number is needed"),
        ("--master-port -1", "at least 0"),
        ("--master-addr otherhost", "no effect without --master-port"),
        ("--rdzv-backend c10", "the rendezvous backends are c10d"),
        ("--rdzv-backend ''", "the rendezvous backends are c10d"),
    ],
)
def test_a_place_that_cannot_be_is_one_line(read, line, message):
    with pytest.raises(OptionError) as caught:
        read(line)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


def test_the_line_wins_over_the_environment(read, free):
    environ = {"PET_STANDALONE": "1"}
    options = read(f"--master-port {free}", environ=environ)
    assert options.loopback_port == free
    (note,) = options.notes
    assert note == "PET_STANDALONE=1 is not used: --master-port is given"


def test_the_line_wins_over_the_defaults(read, free):
    defaults = f"--master-port {free}"
    assert read("--standalone", defaults=defaults).loopback_port == 0
    options = read(f"--master-port {free}", defaults="--standalone --tee 3")
    assert options.loopback_port == free
    assert "--tee" in options.argv
    assert options.notes == ()


def test_standalone_leaves_the_environments_port_alone(read, taken):
    environ = {"PET_MASTER_PORT": str(taken), "PET_RDZV_ENDPOINT": "otherhost:1"}
    options = read("--standalone", environ=environ)
    assert options.loopback_port == 0
    assert all("is not used: --standalone is given" in note for note in options.notes)
    assert len(options.notes) == 2


def test_a_backend_of_the_environment_gives_way_to_a_port(read, free):
    environ = {"PET_RDZV_BACKEND": "c10d", "PET_RDZV_ENDPOINT": "otherhost:1"}
    options = read(f"--master-port {free}", environ=environ)
    assert options.loopback_port == free
    assert "--rdzv-backend" not in options.argv
    assert "--rdzv-endpoint" not in options.argv


def test_variables_that_contradict_each_other_count_as_torch_counts_them(read, taken):
    environ = {"PET_RDZV_BACKEND": "c10d", "PET_MASTER_PORT": str(taken)}
    options = read("", environ=environ)
    assert options.loopback_port is None
    assert options.notes == (
        "PET_RDZV_BACKEND=c10d",
        f"PET_MASTER_PORT={taken} is not used: PET_RDZV_BACKEND is given",
    )


def test_an_address_of_the_environment_without_a_port_is_noted(read):
    options = read("", environ={"PET_MASTER_ADDR": "pod-0"})
    assert options.loopback_port == 0
    assert options.notes == ("PET_MASTER_ADDR=pod-0 is not used: no port is named",)
