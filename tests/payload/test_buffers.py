"""Arrays and other large memory go out of band."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from nbtune.payload.buffers import Buffers, BufferWriter


@pytest.fixture
def send(notebook):
    def send(**values):
        notebook.names.update(values)
        notebook.send(*values)
        return notebook.receive().values

    return send


@pytest.mark.parametrize(
    "array",
    [
        np.arange(200_000),
        np.arange(10),
        np.arange(2000.0).reshape(20, 100).T,
        np.arange(100_000)[::2],
        np.array(["x", None, [1]], dtype=object),
        np.zeros(0),
        np.array([(1, 2.0)] * 500, dtype=[("a", "i4"), ("b", "f8")]),
        np.array("2020-01-01", dtype="M8[D]"),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_arrays_arrive_and_can_be_written(send, array):
    got = send(array=array)["array"]
    assert (got.dtype, got.shape) == (array.dtype, array.shape)
    assert np.array_equal(got, array)
    got[...] = array
    assert got.flags.writeable


def test_a_read_only_array_stays_read_only(send):
    array = np.arange(10_000)
    array.flags.writeable = False
    assert not send(array=array)["array"].flags.writeable


def test_an_array_that_two_names_share_stays_one(send):
    array = np.zeros(10_000)
    got = send(a=array, b={"x": array})
    assert got["a"] is got["b"]["x"]


def test_large_bytes_arrive(send):
    data = bytes(range(256)) * 100_000
    got = send(data=data, text="é" * 100_000, array=bytearray(data))
    assert got == {"data": data, "text": "é" * 100_000, "array": bytearray(data)}


def test_packing_a_large_array_makes_no_second_copy(notebook):
    notebook.names["array"] = np.zeros(20_000_000, dtype=np.uint8)
    tracemalloc.start()
    notebook.send("array")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000


def test_buffers_are_aligned_and_read_back(tmp_path):
    path = tmp_path / "buffers.bin"
    with BufferWriter(path) as writer:
        places = [writer.add(memoryview(b"x" * size)) for size in (3, 0, 70, 1)]
    assert [offset % 64 for offset, _ in places] == [0, 0, 0, 0]
    buffers = Buffers(path)
    assert [bytes(buffers.take(*place)) for place in places] == [
        b"xxx",
        b"",
        b"x" * 70,
        b"x",
    ]


def test_an_empty_file_of_buffers_is_no_error(tmp_path):
    path = tmp_path / "buffers.bin"
    with BufferWriter(path) as writer:
        writer.add(memoryview(b""))
    assert bytes(Buffers(path).take(0, 0)) == b""
