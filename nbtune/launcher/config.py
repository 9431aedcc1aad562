"""torch's own launch configuration, from torchrun's own parser."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from torch.distributed.run import config_from_args, parse_args

from . import rendezvous
from .logs import JobLogs

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from torch.distributed.launcher.api import LaunchConfig

    from nbtune.record import JobDir, LaunchSpec

__all__ = ["launch_config"]

_MONITOR_INTERVAL = 0.02  # seconds; torchrun's 0.1 is felt by who waits for a cell
_LOCAL_HOSTS = ("", "localhost", rendezvous.LOOPBACK)


def launch_config(
    spec: LaunchSpec,
    folder: JobDir,
    started: Callable[[dict[int, dict[str, str]]], None],
) -> LaunchConfig:
    """What torchrun would make of the options, with our rendezvous and logs.

    Args:
        spec: the job.
        folder: its folder.
        started: called with the environments of the ranks of each attempt.

    Raises:
        ValueError: an option that torch refuses.
    """
    args = parse_args([*spec.argv, "cell"])
    args.nproc_per_node = str(spec.nproc)
    args.log_dir = os.devnull  # else torch makes a folder in the temp directory
    if spec.loopback_port is not None:
        rendezvous.register()
        args.rdzv_backend = rendezvous.BACKEND
        args.rdzv_endpoint = f"{rendezvous.LOOPBACK}:{spec.loopback_port}"
        args.rdzv_id = folder.id
        args.local_addr = args.local_addr or rendezvous.LOOPBACK
    else:
        _complete_endpoint(args, folder)
    if not _named(spec, "start_method"):
        args.start_method = "fork"
    if not _named(spec, "monitor_interval"):
        args.monitor_interval = _MONITOR_INTERVAL
    filters = bool(args.duplicate_stdout_filters or args.duplicate_stderr_filters)
    config: LaunchConfig = config_from_args(args)[0]
    config.logs_specs = JobLogs(folder, started, tee=filters)
    return config


def _complete_endpoint(args: argparse.Namespace, folder: JobDir) -> None:
    """Keep a local job of torch's own backends off the host name."""
    if args.rdzv_backend == "c10d" and not args.rdzv_endpoint:
        args.rdzv_endpoint = "localhost:0"
    if args.rdzv_id == "none":
        args.rdzv_id = folder.id
    host = args.rdzv_endpoint.rpartition(":")[0]
    if args.local_addr is None and host in _LOCAL_HOSTS:
        args.local_addr = rendezvous.LOOPBACK


def _named(spec: LaunchSpec, dest: str) -> bool:
    """Whether the user gave an option, on the line or by ``PET_*``."""
    flags = {f"--{dest}", f"--{dest.replace('_', '-')}"}
    given = {word.partition("=")[0] for word in spec.argv}
    return bool(flags & given) or f"PET_{dest.upper()}" in os.environ
