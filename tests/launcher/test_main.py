"""The launcher's own ends."""

import json
import socket

from nbtune.record import JobFinished, JobState, read_events


def test_an_unknown_backend_is_the_launchers_failure(launch):
    job = launch(
        "x = 1",
        "--rdzv-backend=nosuch",
        "--rdzv-endpoint=127.0.0.1:29644",
        nproc=1,
        loopback_port=None,
    )
    assert job.snapshot.state is JobState.FAILED
    assert "nosuch" in job.snapshot.message
    assert "nosuch" in json.loads(job.folder.error.read_text())["message"]["message"]
    assert job.failures == []


def test_a_taken_port_is_the_launchers_failure(launch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        job = launch("x = 1", nproc=1, loopback_port=taken.getsockname()[1])
    assert job.snapshot.state is JobState.FAILED
    assert "in use" in job.snapshot.message


def test_torchs_own_backend_works_on_the_loopback_address(launch):
    job = launch("x = 1", "--rdzv-backend=c10d", loopback_port=None)
    assert job.snapshot.state is JobState.SUCCEEDED, job.log


def test_the_last_event_is_the_end(launch):
    job = launch("x = 1", nproc=1)
    last = read_events(job.folder.events)[-1]
    assert isinstance(last, JobFinished)
    assert last.state == "SUCCEEDED"


def test_nothing_is_left_in_the_temp_directory(launch, tmp_path):
    temp = tmp_path / "temp"
    temp.mkdir()
    launch("x = 1", nproc=1, environ={"TMPDIR": str(temp)})
    assert list(temp.iterdir()) == []


def test_every_listening_socket_is_on_the_loopback_address(launch):
    job = launch(
        "import os, psutil\n"
        "for process in psutil.Process().parent(), psutil.Process():\n"
        "    for c in process.net_connections(kind='inet'):\n"
        "        if c.status == psutil.CONN_LISTEN: print(c.laddr.ip)",
        nproc=1,
    )
    assert set(job.out(0).split()) == {"127.0.0.1"}
