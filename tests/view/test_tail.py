"""Reading a file that grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtune.view.tail import Tail

if TYPE_CHECKING:
    from pathlib import Path


def test_each_byte_is_read_once(tmp_path: Path):
    path = tmp_path / "log"
    tail = Tail(path)
    with path.open("wb", buffering=0) as stream:
        stream.write(b"one\n")
        assert tail.read(100) == b"one\n"
        assert tail.read(100) == b""
        stream.write(b"two\n")
        assert tail.read(100) == b"two\n"


def test_a_file_that_is_not_there_yet_is_empty(tmp_path: Path):
    path = tmp_path / "later" / "log"
    tail = Tail(path)
    assert tail.read(100) == b""
    path.parent.mkdir()
    path.write_bytes(b"now")
    assert tail.read(100) == b"now"


def test_no_more_than_the_limit_is_read(tmp_path: Path):
    path = tmp_path / "log"
    path.write_bytes(b"abcdef")
    tail = Tail(path)
    assert [tail.read(4), tail.read(4), tail.read(4)] == [b"abcd", b"ef", b""]


def test_a_file_that_was_cut_is_read_from_its_beginning(tmp_path: Path):
    path = tmp_path / "log"
    path.write_bytes(b"a long first text\n")
    tail = Tail(path)
    tail.read(100)
    path.write_bytes(b"short\n")
    assert tail.read(100) == b"short\n"


def test_a_file_that_is_removed_is_no_error(tmp_path: Path):
    path = tmp_path / "log"
    path.write_bytes(b"text")
    tail = Tail(path)
    path.unlink()
    assert tail.read(100) == b""
