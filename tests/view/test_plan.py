"""The text of a dry run."""

from nbtune.options import Options
from nbtune.payload import Packed
from nbtune.view import plan_text


def packed(**sizes: int) -> Packed:
    return Packed(
        names=tuple(sizes),
        sizes=sizes,
        problems=(),
        warnings=("y: its autograd graph is not sent",),
        modules=frozenset(),
        classes={},
        reached={"helper": "train"},
    )


def test_the_largest_value_comes_first_with_the_way_to_it():
    options = Options(argv=("--nproc-per-node", "2"), nproc=2, notes=("PET_X=1",))
    text = plan_text(options, packed(train=1_500, helper=2_000_000_000))
    assert text.splitlines() == [
        "torchrun --standalone --nproc-per-node 2 cell.py",
        "using PET_X=1",
        "would send 2.0 GB to 2 ranks:",
        "  helper  2.0 GB  (through train)",
        "  train  1.5 kB",
        "y: its autograd graph is not sent",
        "nothing was started",
    ]
