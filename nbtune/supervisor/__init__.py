"""The process above a job: it starts the launcher and ends everything below.

Standard library alone: it holds nothing that could fail with torch. It has the
read end of the kernel's lifeline as its standard input, forks the launcher, and
is the subreaper of all that descends from it, so that no process of a job
outlives the job, whoever is killed.

Where the system has no subreaper, no ``/proc`` and no pidfd (anything but
Linux), only the launcher itself is ended; its ranks follow by their own means.
"""

from .supervise import main

__all__ = ["main"]
