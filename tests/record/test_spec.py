"""The spec of a job."""

import dataclasses

import pytest

from nbtune.record import Call, Cell, LaunchSpec, read_spec, write_spec

CELL = Cell(source="x = '\udc80 é'", execution_count=3, out=("a",), out_all=("b",))
FILTERS = (("ignore", "", "builtins.UserWarning", "", 0),)


@pytest.mark.parametrize("entry", [CELL, Call()])
def test_a_spec_survives_the_file(tmp_path, entry):
    spec = LaunchSpec(
        entry=entry,
        argv=("--nproc-per-node", "2"),
        nproc=2,
        sys_path=("/a b", "/c"),
        env={"A": "1"},
        timeout=2.5,
        warning_filters=FILTERS,
    )
    write_spec(tmp_path / "spec.json", spec)
    assert read_spec(tmp_path / "spec.json") == spec


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": "cell", "argv": []}'])
def test_a_damaged_spec_is_none(tmp_path, text):
    (tmp_path / "spec.json").write_text(text)
    assert read_spec(tmp_path / "spec.json") is None


def test_a_spec_cannot_be_changed():
    spec = LaunchSpec(entry=CELL, argv=(), nproc=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.nproc = 2
