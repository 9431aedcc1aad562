"""temporary stand-in until the real one is written"""

from nbtune.errors import *
from nbtune.record import *


def error_of(folder, snapshot, *, spec):
    if snapshot.state is JobState.SUCCEEDED:
        return None
    v = judge(read_failures(folder, snapshot.attempt, snapshot.events))
    if snapshot.state is JobState.CANCELLED:
        return JobCancelledError("cancelled")
    if snapshot.reason == "timeout":
        return JobTimeoutError("timeout")
    if snapshot.state is JobState.LOST:
        return JobLostError("the launcher was killed")
    if snapshot.message or v is None:
        return LaunchError(snapshot.message)
    return WorkerError(v.root, v.others, [v.root.summary(), v.root.traceback])
