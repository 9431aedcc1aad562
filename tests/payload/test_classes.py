"""Classes of the notebook, in both directions."""

from __future__ import annotations

import pytest

from nbtune.payload import pack, unpack


class Rank:
    """A second namespace in this process that plays the rank."""

    def __init__(self, notebook, *names):
        self.sent = notebook.pack(*names)
        assert self.sent.problems == ()
        self.names = {"__name__": "__main__"}
        found = notebook.receive(namespace=self.names)
        self.names |= found.reached | found.values
        self.known = {cls: key for key, cls in found.classes.items()}
        self.notebook = notebook

    def run(self, text):
        exec(text, self.names)

    def bring(self, *names):
        """Results back into the notebook's side."""
        folder = self.notebook.folder.with_name("results")
        roots = {name: self.names[name] for name in names}
        packed = pack(
            roots, folder, namespace=self.names, follow=False, known=self.known
        )
        assert packed.problems == ()
        found = unpack(folder, namespace=self.notebook.names, known=self.sent.classes)
        assert found.failures == {}
        return found


@pytest.fixture
def meter(notebook):
    notebook.cell("class Meter: total = 10\nm = Meter()")
    return Rank(notebook, "m", "Meter")


def test_both_sides_know_a_class_by_the_same_key(meter, notebook):
    assert set(meter.known.values()) == set(meter.sent.classes)
    assert list(meter.sent.classes.values()) == [notebook.names["Meter"]]
    assert meter.names["Meter"] is not notebook.names["Meter"]


def test_a_result_never_rewrites_a_class_of_the_notebook(meter, notebook):
    meter.run("Meter.total = 99; m.k = 1")
    notebook.names["Meter"].total = 11
    m = meter.bring("m").values["m"]
    assert isinstance(m, notebook.names["Meter"])
    assert (m.k, notebook.names["Meter"].total) == (1, 11)


def test_a_class_redefined_meanwhile_keeps_its_old_instances(notebook):
    notebook.cell("class R:\n    def show(self): return 'old'\nr = R()")
    rank = Rank(notebook, "r")
    notebook.cell("class R:\n    def show(self): return 'new'")
    r = rank.bring("r").values["r"]
    assert (r.show(), notebook.names["R"]().show()) == ("old", "new")


def test_a_class_made_in_the_cell_comes_with_its_name(meter):
    meter.run("class Out:\n    def dbl(self): return 6\no = Out()")
    found = meter.bring("o")
    assert found.values["o"].dbl() == 6
    assert found.reached == {"Out": type(found.values["o"])}
    assert list(found.classes.values()) == [found.reached["Out"]]


def test_a_class_from_a_result_can_be_sent_again(meter, notebook):
    meter.run("class Out:\n    def dbl(self): return 6\no = Out()")
    notebook.names.update(meter.bring("o").values)
    notebook.folder = notebook.folder.with_name("again")
    again = Rank(notebook, "o")
    assert again.names["o"].dbl() == 6


def test_enum_members_are_the_same_in_the_rank_and_back(notebook):
    notebook.cell("import enum\nclass Mode(enum.Enum): TRAIN = 1\nmode = Mode.TRAIN")
    rank = Rank(notebook, "mode", "Mode")
    rank.run("same = mode is Mode.TRAIN; picked = Mode.TRAIN")
    found = rank.bring("same", "picked")
    assert found.values["same"] is True
    assert found.values["picked"] is notebook.names["Mode"].TRAIN


def test_a_class_that_the_notebook_lost_is_a_named_failure(meter, notebook):
    folder = notebook.folder.with_name("results")
    roots = {"m": meter.names["m"], "x": 1}
    pack(roots, folder, namespace=meter.names, follow=False, known=meter.known)
    found = unpack(folder, namespace=notebook.names)
    assert found.values == {"x": 1}
    assert found.failures == {
        "m": "LookupError: the class Meter of the notebook is gone"
    }


def test_a_function_in_a_result_gets_the_notebooks_globals(meter, notebook):
    meter.run("lr = 5\ndef f(): return lr")
    notebook.names["lr"] = 7
    assert meter.bring("f").values["f"]() == 7


def test_abstract_generic_named_slotted_and_data_classes_arrive(notebook):
    notebook.cell(
        """
        import abc, dataclasses
        from typing import *
        class B(NamedTuple):
            x: int
            y: int = 2
        class Base(abc.ABC):
            @abc.abstractmethod
            def go(self): ...
        class Imp(Base):
            __slots__ = ("q",)
            def __init__(self):
                super().__init__()
                self.q = 5
            def go(self): return "ok"
        T = TypeVar("T")
        class G(Generic[T]):
            def __init__(self, v: T): self.v = v
        class TD(TypedDict):
            a: int
        @dataclasses.dataclass
        class D:
            a: "int"
            b: list = dataclasses.field(default_factory=list)
        imp, b, g, d = Imp(), B(1), G[int](3), D(1)
        """
    )
    notebook.send("imp", "b", "g", "d", "TD")
    out = notebook.rank(
        """
        print(imp.go(), isinstance(imp, Base), b == B(1), imp.q, vars(imp), Imp.q)
        print(G[int](2).v, isinstance(g, G), d == D(1), D(2).b, TD(a=2))
        try:
            Base()
        except TypeError:
            print("abstract")
        """
    )
    assert out.splitlines() == [
        "ok True True 5 {} <member 'q' of 'Imp' objects>",
        "2 True True [] {'a': 2}",
        "abstract",
    ]


def test_an_old_instance_of_a_redefined_class_keeps_its_methods(notebook):
    notebook.cell("class K:\n    def v(self): return 1\nold = K()")
    notebook.cell("class K:\n    def v(self): return 2")
    notebook.send("old", "K")
    assert notebook.rank("print(old.v(), K().v(), isinstance(old, K))") == (
        "1 2 False\n"
    )


def test_pydantic_models_arrive_with_their_checks(notebook):
    notebook.cell(
        """
        import pydantic
        class Cfg(pydantic.BaseModel):
            lr: float = 0.1
        cfg = Cfg()
        """
    )
    notebook.send("cfg")
    out = notebook.rank(
        """
        import pydantic
        class Cfg2(Cfg): k: int = 1
        print(cfg.lr, Cfg(lr=2).lr, repr(Cfg2()))
        try:
            Cfg(lr="a")
        except pydantic.ValidationError as error:
            print("lr" in str(error))
        """
    )
    assert out == "0.1 2.0 Cfg2(lr=0.1, k=1)\nTrue\n"
