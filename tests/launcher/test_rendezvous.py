"""The loopback rendezvous."""

import socket

import pytest
import torch.distributed as dist
from torch.distributed.elastic.rendezvous import RendezvousParameters

from nbtune.launcher.rendezvous import BACKEND, LOOPBACK, LoopbackRendezvous


def handler(port=0):
    parameters = RendezvousParameters(BACKEND, f"{LOOPBACK}:{port}", "job", 1, 1)
    return LoopbackRendezvous(parameters)


def test_the_store_answers_on_the_loopback_address():
    one = handler()
    bootstrap = one.next_rendezvous().bootstrap_store_info
    assert bootstrap.master_addr == "127.0.0.1"
    client = dist.TCPStore(LOOPBACK, bootstrap.master_port, is_master=False)
    client.set("a", "1")
    assert client.get("a") == b"1"


def test_two_jobs_get_two_ports():
    one, two = handler(), handler()
    ports = {h.next_rendezvous().bootstrap_store_info.master_port for h in (one, two)}
    assert len(ports) == 2


def test_a_new_round_forgets_what_the_round_before_stored():
    one = handler()
    for _ in range(3):
        port = one.next_rendezvous().bootstrap_store_info.master_port
        client = dist.TCPStore(LOOPBACK, port, is_master=False)
        assert not client.check(["address"])
        client.set("address", "stale")


def test_a_named_port_is_used_in_every_round():
    free = socket.create_server((LOOPBACK, 0))
    port = free.getsockname()[1]
    free.close()
    one = handler(port)
    for _ in range(3):
        assert one.next_rendezvous().bootstrap_store_info.master_port == port


def test_a_named_port_that_is_taken_is_an_error():
    with (
        socket.create_server((LOOPBACK, 0)) as taken,
        pytest.raises(OSError, match="in use"),
    ):
        handler(taken.getsockname()[1]).next_rendezvous()


def test_shutdown_closes_the_store():
    one = handler()
    port = one.next_rendezvous().bootstrap_store_info.master_port
    assert one.shutdown()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOOPBACK, port), timeout=5)
