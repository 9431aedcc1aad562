"""Where the ranks meet: our loopback rendezvous, or what the user named.

What one option would silently override is an error, unless the two come from
different places: the line wins over the defaults, both over the environment.
"""

from __future__ import annotations

import errno
import importlib.metadata
import re
import socket
from typing import TYPE_CHECKING

from nbtune.errors import OptionError

from .given import Given, Level
from .values import LAST_PORT

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Rendezvous"]

_OURS = frozenset({"127.0.0.1", "localhost"})
_HOST = re.compile(r"[\w.:-]+")
_FREE = "leave it out to get a free one"


class Rendezvous:
    """Settles the options that say where the ranks meet, checked one by one before.

    Args:
        given: all options by name; those that have no effect are taken out.
        backends: the rendezvous backends that torch knows.

    Attributes:
        given: what is left, in torch's terms.
        notes: variables of the environment that are not used, and why.
    """

    def __init__(self, given: dict[str, Given], backends: Sequence[str]) -> None:
        self.given = dict(given)
        self.notes: list[str] = []
        self._backends = backends

    def settle(self) -> int | None:
        """The port for our own rendezvous: 0 for a free one, None for torch's.

        Raises:
            OptionError: options contradict each other, or the port is in use.
        """
        self._standalone()
        backend = self.given.get("rdzv_backend")
        if backend is not None and backend.value != "static":
            return self._of_torch(backend)
        if "rdzv_endpoint" in self.given:
            self._prefer("rdzv_endpoint", "master_port", "master_addr")
        endpoint = self.given.get("rdzv_endpoint")
        if endpoint is not None:
            return self._static_endpoint(endpoint)
        port = self.given.get("master_port")
        if port is None or not int(port.value):
            return self._free_port()
        return self._static_port(port)

    def _standalone(self) -> None:
        if "standalone" not in self.given:
            return
        losers = ["rdzv_endpoint", "rdzv_id"]
        if self._value("rdzv_backend") != "c10d":
            losers.append("rdzv_backend")
        if self._value("master_addr") not in _OURS:
            losers.append("master_addr")
        if self._value("master_port").strip("0 "):
            losers.append("master_port")
        self._prefer("standalone", *losers)
        if self.given.pop("standalone", None) is not None:
            # Our rendezvous on a free port is what it asks for.
            for dest in ("rdzv_backend", "master_addr", "master_port"):
                self.given.pop(dest, None)

    def _prefer(self, dest: str, *others: str) -> None:
        """Settle that *dest* makes *others* useless."""
        for other in others:
            winner, loser = self.given.get(dest), self.given.get(other)
            if winner is None or loser is None:
                continue
            if winner.level < loser.level:
                winner, loser = loser, winner
            elif winner.level == loser.level != Level.ENVIRONMENT:
                raise OptionError(
                    f"{loser.shown} has no effect next to {winner.shown}: "
                    f"leave one of them out"
                )
            self._drop(loser, f"{winner.label} is given")

    def _drop(self, loser: Given, reason: str) -> None:
        del self.given[loser.dest]
        if loser.level is Level.ENVIRONMENT:
            self.notes.append(f"{loser.shown} is not used: {reason}")

    def _of_torch(self, backend: Given) -> int | None:
        self._prefer("rdzv_backend", "master_port", "master_addr")
        if "rdzv_backend" not in self.given:
            return self.settle()
        known = self._backends
        if known and backend.value not in {*known, *_plugins()}:
            raise backend.wrong(f"the rendezvous backends are {', '.join(known)}")
        endpoint, conf = self.given.get("rdzv_endpoint"), self._value("rdzv_conf")
        own_store = "store_type=file" in conf or "is_host" in conf
        if backend.value == "c10d" and endpoint is not None and not own_store:
            host, port = _split(endpoint)
            if port:
                _check_free(endpoint, host, port, "write 0 for a free one")
        return None

    def _static_endpoint(self, endpoint: Given) -> int | None:
        host, port = _split(endpoint)
        if not port:
            raise endpoint.wrong(
                "the static rendezvous needs a port: name one, or leave the endpoint "
                "out to get a free one"
            )
        _check_free(endpoint, host, port, _FREE)
        return port if host in _OURS else None

    def _static_port(self, port: Given) -> int | None:
        host = self._value("master_addr") or "127.0.0.1"
        _check_free(port, host.strip("[]"), int(port.value), _FREE)
        return int(port.value) if host in _OURS else None

    def _free_port(self) -> int | None:
        address = self.given.get("master_addr")
        if address is not None:
            if address.value in _OURS:
                del self.given["master_addr"]
            elif address.level is Level.ENVIRONMENT:
                self._drop(address, "no port is named")
            else:
                raise address.wrong("it has no effect without --master-port")
        for dest in ("master_port", "rdzv_backend"):
            self.given.pop(dest, None)
        local = self.given.get("local_addr")
        if local is None or local.value in _OURS:
            return 0
        # The ranks shall meet on the address that was named: torch's own way to
        # find a free port listens there, ours on loopback alone.
        for dest, flag, value in (
            ("rdzv_backend", "--rdzv-backend", "c10d"),
            ("rdzv_endpoint", "--rdzv-endpoint", "localhost:0"),
        ):
            self.given[dest] = Given(
                dest=dest, flag=flag, values=(value,), level=Level.TORCH
            )
        return None

    def _value(self, dest: str) -> str:
        given = self.given.get(dest)
        return given.value if given is not None else ""


def _plugins() -> set[str]:
    points = importlib.metadata.entry_points(group="torchrun.handlers")
    return {point.name for point in points}


def _split(endpoint: Given) -> tuple[str, int]:
    """Host and port of an endpoint, 0 for no port; torch's rules."""
    text = endpoint.value.strip()
    bracketed = text.startswith("[") and text.endswith("]")
    host, _, port = (text, "", "") if bracketed else text.rpartition(":")
    if not host:
        host, port = text, ""
    host = host.strip("[]")
    if port and not (re.fullmatch("[0-9]{1,5}", port) and int(port) <= LAST_PORT):
        raise endpoint.wrong(f"a port is a number from 0 to {LAST_PORT}")
    if not _HOST.fullmatch(host):
        raise endpoint.wrong("write HOST:PORT")
    return host, int(port or 0)


def _check_free(given: Given, host: str, port: int, cure: str) -> None:
    """Try to bind the port, if the address is of this machine's loopback.

    Raises:
        OptionError: it is in use, or not for this user.
    """
    if host not in _OURS:
        return
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError as error:
            words = {errno.EADDRINUSE: "is in use", errno.EACCES: "is not for users"}
            what = words.get(error.errno or 0, f"cannot be used, {error.strerror}")
            raise OptionError(
                f"port {port} {what} (from {given.label}); {cure}"
            ) from error
