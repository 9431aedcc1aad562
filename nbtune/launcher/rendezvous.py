"""Our loopback rendezvous: one node, known beforehand, nothing off 127.0.0.1.

torch's own ``--standalone`` advertises the host name, waits at random before it
joins and listens on every interface. Here the store listens on a socket that is
already bound to 127.0.0.1, so that no port can be lost between choosing and
binding, and every round gets a store of its own, so that restarted ranks never
read the addresses of an earlier attempt.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import torch.distributed as dist
from torch.distributed.elastic.rendezvous import (
    RendezvousHandler,
    RendezvousInfo,
    RendezvousStoreInfo,
    rendezvous_handler_registry,
)

if TYPE_CHECKING:
    from torch.distributed.elastic.rendezvous import RendezvousParameters

__all__ = ["BACKEND", "LOOPBACK", "LoopbackRendezvous", "register"]

BACKEND = "nbtune-loopback"
LOOPBACK = "127.0.0.1"
_BACKLOG = 2048


class LoopbackRendezvous(RendezvousHandler):
    """A handler for torch's registry; ``endpoint`` names the port, 0 for a free one.

    The agent gets an in-process store. The store of the ranks belongs to this
    object alone, so that a new round can close it and bind the same port again.
    """

    def __init__(self, parameters: RendezvousParameters) -> None:
        self._run_id = parameters.run_id
        self._port = int(parameters.endpoint.rpartition(":")[2])
        self._store: object = None

    def next_rendezvous(self) -> RendezvousInfo:
        """Answer rank 0 of 1 with a fresh store.

        Raises:
            OSError: a port that the user named is taken.
        """
        self._store = None  # closes the listener of the round before
        listener = socket.socket()
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((LOOPBACK, self._port))
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            raise
        port = listener.getsockname()[1]
        self._store = dist.TCPStore(  # type: ignore[attr-defined] # there at run time
            LOOPBACK,
            port,
            is_master=True,
            wait_for_workers=False,
            master_listen_fd=listener.detach(),
        )
        bootstrap = RendezvousStoreInfo(LOOPBACK, port)
        agents = dist.HashStore()  # type: ignore[attr-defined] # there at run time
        return RendezvousInfo(agents, 0, 1, bootstrap)

    @property
    def use_agent_store(self) -> bool:
        """Ranks use the store at ``MASTER_ADDR:MASTER_PORT``, ours."""
        return True

    def get_backend(self) -> str:
        """Name in the registry."""
        return BACKEND

    def get_run_id(self) -> str:
        """The job's id."""
        return self._run_id

    def is_closed(self) -> bool:
        """One node never waits for others."""
        return False

    def set_closed(self) -> None:
        """Nothing to tell other nodes."""

    def num_nodes_waiting(self) -> int:
        """One node: nobody waits."""
        return 0

    def shutdown(self) -> bool:
        """Close the store."""
        self._store = None
        return True


def register() -> None:
    """Make the backend known to torch, once in a process."""
    rendezvous_handler_registry.register(BACKEND, LoopbackRendezvous)
