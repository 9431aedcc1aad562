"""Writing whole files."""

import pytest

from nbtune.record import read_json, write_json, write_whole


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    path = tmp_path / "x.json"
    write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        write_whole(path, "text")
    assert read_json(path) == {"a": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.json"]


def test_what_is_no_json_object_reads_as_none(tmp_path):
    for text in ("", "[1]", "{", "\x00"):
        (tmp_path / "x").write_text(text)
        assert read_json(tmp_path / "x") is None
    assert read_json(tmp_path / "missing") is None
