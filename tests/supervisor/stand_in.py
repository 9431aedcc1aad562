"""Launchers for the tests: ``run`` does what the spec's name says.

Every process enrols itself in the folder ``pids``, so that a test can tell
whether all of them are gone. Each behaviour ends by itself after a minute.
"""

import json
import os
import signal
import sys
import time
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

from nbtune.record import process_start, read_spec, write_json


def run(folder):
    (folder.root / "pids").mkdir()
    enrol(folder, "launcher")
    return globals()[read_spec(folder.spec).name](folder)


def enrol(folder, role, pid=None):
    pid = pid or os.getpid()
    mark = {"pid": pid, "start": process_start(pid)}
    write_json(folder.root / "pids" / role, mark)


def rest():
    end = time.monotonic() + 60
    while time.monotonic() < end:
        time.sleep(0.2)


def fork(live):
    pid = os.fork()
    if pid == 0:
        try:
            live()
        finally:
            os._exit(0)
    return pid


def hear(folder, *numbers):
    """Note each signal in a file of its name, and go on living."""

    def note(number, _frame):
        who = f"{signal.Signals(number).name}-{os.getpid()}"
        (folder.root / who).touch()

    for number in numbers:
        signal.signal(number, note)


def succeed(_folder):
    print("a snowman: \N{SNOWMAN}")
    return 0


def return_three(_folder):
    return 3


def raise_error(_folder):
    raise KeyError("no such thing")


def say_goodbye(_folder):
    sys.exit("goodbye")


def tell_surroundings(folder):
    status = Path("/proc/self/status").read_text().splitlines()
    masks = dict(line.split(":\t", 1) for line in status if line.startswith("Sig"))
    known = {
        "environ": dict(os.environ),
        "stdin": str(Path("/proc/self/fd/0").readlink()),
        "descriptors": sorted(os.listdir("/proc/self/fd"), key=int),
        "session": os.getsid(0) == os.getpid(),
        "ignored": int(masks["SigIgn"], 16),
        "blocked": int(masks["SigBlk"], 16),
        "utf8": sys.flags.utf8_mode,
        "cwd": str(Path.cwd()),
    }
    (folder.root / "surroundings").write_text(json.dumps(known))
    return 0


def wait_alone(folder):
    enrol(folder, "ready")
    rest()
    return 0


def hand_on(folder):
    """As torch's agent: SIGINT goes to the rank, then an error is recorded."""

    def live():
        hear(folder, signal.SIGTERM)
        try:
            enrol(folder, "ready")
            rest()
        except KeyboardInterrupt:
            (folder.root / "rank-interrupted").touch()

    pid = fork(live)
    try:
        os.waitpid(pid, 0)
    except KeyboardInterrupt:
        (folder.root / "launcher-interrupted").touch()
        os.kill(pid, signal.SIGINT)
        os.waitpid(pid, 0)
        write_json(folder.error, {"message": "got signal: 2"})
    return 1


def record_sigint(folder):
    """As torch's agent: SIGINT becomes an error that is recorded."""

    def stop(_number, _frame):
        raise TimeoutError

    signal.signal(signal.SIGINT, stop)
    try:
        wait_alone(folder)
    except TimeoutError:
        write_json(folder.error, {"message": "got signal: 2"})
    return 1


def be_stubborn(folder):
    """The launcher and its rank hear every polite signal and stay."""

    def live():
        enrol(folder, "ready")
        rest()

    hear(folder, signal.SIGINT, signal.SIGTERM)
    fork(live)
    rest()
    return 0


def have_family(folder):
    """A rank with a child, and a daemon that left session and parents."""

    def daemon():
        os.setsid()
        fork(enrolled("daemon"))

    def enrolled(role):
        def live():
            hear(folder, signal.SIGTERM)
            enrol(folder, role)
            rest()

        return live

    def live():
        fork(enrolled("child"))
        os.waitpid(fork(daemon), 0)
        enrolled("rank")()

    fork(live)
    rest()
    return 0


def leave_family(folder):
    """As ``have_family``, but the launcher ends well when all are there."""
    pid = fork(lambda: have_family(folder))
    while len(os.listdir(folder.root / "pids")) < 4:
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    return 0


def share_memory(folder):
    """A rank that holds named shared memory."""

    def live():
        memory = SharedMemory(create=True, size=16)
        (folder.root / "memory").write_text(memory.name)
        enrol(folder, "tracker", resource_tracker._resource_tracker._pid)
        enrol(folder, "ready")
        rest()

    fork(live)
    rest()
    return 0
