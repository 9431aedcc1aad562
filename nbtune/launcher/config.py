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
    args = _parse(spec)
    args.nproc_per_node = str(spec.nproc)
    args.log_dir = os.devnull  # else torch makes a folder in the temp directory
    if spec.loopback_port is not None:
        rendezvous.register()
        args.rdzv_backend = rendezvous.BACKEND
        args.rdzv_endpoint = f"{rendezvous.LOOPBACK}:{spec.loopback_port}"
        args.local_addr = args.local_addr or rendezvous.LOOPBACK
    else:
        _complete_endpoint(args)
    if args.rdzv_id == "none":
        args.rdzv_id = folder.id
    if not _named(spec, "start_method"):
        args.start_method = "fork"
    if not _named(spec, "monitor_interval"):
        args.monitor_interval = _MONITOR_INTERVAL
    filters = bool(args.duplicate_stdout_filters or args.duplicate_stderr_filters)
    config: LaunchConfig = config_from_args(args)[0]
    config.logs_specs = JobLogs(folder, started, tee=filters)
    return config


def _parse(spec: LaunchSpec) -> argparse.Namespace:
    """Read the options, and no ``PET_*``: those that count are among them."""
    names = [name for name in os.environ if name.startswith("PET_")]
    taken = {name: os.environ.pop(name) for name in names}
    try:
        args: argparse.Namespace = parse_args([*spec.argv, "cell"])
        return args
    finally:
        os.environ.update(taken)


def _complete_endpoint(args: argparse.Namespace) -> None:
    """Keep a local job of torch's own backends off the host name."""
    if args.rdzv_backend == "c10d" and not args.rdzv_endpoint:
        args.rdzv_endpoint = "localhost:0"
    host = args.rdzv_endpoint.rpartition(":")[0]
    if args.local_addr is None and host in _LOCAL_HOSTS:
        args.local_addr = rendezvous.LOOPBACK


def _named(spec: LaunchSpec, dest: str) -> bool:
    """Whether the user gave an option."""
    flags = {f"--{dest}", f"--{dest.replace('_', '-')}"}
    return any(word.partition("=")[0] in flags for word in spec.argv)
