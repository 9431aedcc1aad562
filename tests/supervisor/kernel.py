"""A process that starts a job as a kernel does, and then waits to be killed.

Arguments: the job's folder, the behaviour of the stand-in launcher, and any of
``fork`` (a child holds a copy of every descriptor) and ``deaf`` (signals are
ignored, as under ``nohup``).
"""

import os
import signal
import sys
from pathlib import Path

from nbtune.process import start
from nbtune.record import Call, JobDir, LaunchSpec, write_spec

folder = JobDir(Path(sys.argv[1]))
if "deaf" in sys.argv:
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
write_spec(
    folder.spec,
    LaunchSpec(
        entry=Call(), argv=(), nproc=1, name=sys.argv[2], kernel_pid=os.getpid()
    ),
)
running = start(
    folder, executable=sys.executable, environ=os.environ, launcher="stand_in"
)
if "fork" in sys.argv:
    os.fork()
if "deaf" in sys.argv:
    running.wait()
# the test closes this pipe when it is over, which ends the child too
sys.stdin.read()
