"""Tensors keep their memory's sharing, and send no more of it than is used."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture
def send(notebook):
    """Send values to a namespace of this process."""

    def send(**values):
        notebook.names.update(values)
        notebook.send(*values)
        return notebook.receive().values

    return send


def _bytes(tensor):
    return tensor.untyped_storage().nbytes()


def test_model_and_optimizer_stay_linked(notebook):
    notebook.cell(
        """
        import torch
        net = torch.nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=1.0)
        """
    )
    notebook.send("torch", "net", "opt")
    out = notebook.rank(
        """
        net(torch.ones(1, 2)).sum().backward()
        before = net.weight.clone()
        opt.step()
        print(torch.equal(before, net.weight))
        print(opt.param_groups[0]["params"][0] is net.weight)
        """
    )
    assert out == "False\nTrue\n"


def test_a_small_view_of_a_large_storage_is_sent_compact(send):
    full = torch.arange(1_000_000)
    got = send(tiny=full[500:504])["tiny"]
    assert (got.tolist(), _bytes(got)) == ([500, 501, 502, 503], 32)


def test_a_column_is_sent_compact(send):
    full = torch.arange(100_000).view(1000, 100)
    got = send(column=full[:, 3])["column"]
    assert torch.equal(got, full[:, 3])
    assert _bytes(got) == 8000


def test_views_that_overlap_go_on_sharing(send):
    full = torch.zeros(10_000)
    got = send(full=full, part=full[100:200], bits=full[:4].view(torch.int32))
    got["full"][150] = 7.0
    got["full"][0] = 1.0
    assert got["part"][50] == 7
    assert got["bits"][0] == torch.tensor(1.0).view(torch.int32)
    assert got["part"].untyped_storage().data_ptr() == (
        got["full"].untyped_storage().data_ptr()
    )


def test_two_distant_views_do_not_bring_what_is_between_them(notebook):
    full = torch.arange(1_000_000)
    notebook.names.update(a=full[:4], b=full[-4:])
    packed = notebook.send("a", "b")
    assert sum(packed.sizes.values()) < 2_000
    values = notebook.receive().values
    assert values["a"].tolist() + values["b"].tolist() == [
        *range(4),
        *range(999_996, 1_000_000),
    ]


@pytest.mark.parametrize(
    "value",
    [
        torch.tensor(3.5),
        torch.empty(0),
        torch.empty(3, 0, 2),
        torch.arange(24).view(2, 3, 4).transpose(0, 2),
        torch.ones(1).expand(5),
        torch.tensor([1 + 2j]).conj(),
        torch.eye(3).to_sparse(),
        torch.ones(3, dtype=torch.bfloat16),
        torch.ones(2, dtype=torch.float8_e4m3fn),
        torch.tensor([True, False]),
        torch.zeros(2, dtype=torch.complex128),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:Sparse")
def test_any_kind_of_tensor_arrives(send, value):
    got = send(value=value)["value"]
    assert (got.shape, got.dtype, got.layout) == (
        value.shape,
        value.dtype,
        value.layout,
    )
    if value.layout is torch.strided:
        assert got.stride() == value.stride()
    assert str(got) == str(value)


def test_gradient_wishes_arrive(send):
    got = send(
        w=torch.ones(2, requires_grad=True),
        p=torch.nn.Parameter(torch.ones(2), requires_grad=False),
        q=torch.nn.Parameter(torch.ones(2)),
        c=torch.ones(2),
    )
    wishes = {name: value.requires_grad for name, value in got.items()}
    assert wishes == {"w": True, "p": False, "q": True, "c": False}
    assert all(value.is_leaf for value in got.values())
    assert type(got["q"]) is torch.nn.Parameter


def test_a_tied_parameter_stays_tied(send):
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    net[1].weight = net[0].weight
    got = send(net=net)["net"]
    assert got[1].weight is got[0].weight


def test_attributes_of_a_tensor_arrive(send):
    value = torch.arange(3)
    value.mark = "x"
    got = send(value=value)["value"]
    assert (got.tolist(), got.mark) == ([0, 1, 2], "x")


def test_a_subclass_arrives_as_what_it_is(notebook):
    notebook.cell(
        """
        import torch
        class T(torch.Tensor): pass
        t = torch.arange(3).as_subclass(T)
        """
    )
    notebook.send("t")
    assert notebook.rank("print(type(t) is T, t.tolist())") == "True [0, 1, 2]\n"


def test_storages_arrive_whole_and_shared(send):
    tensor = torch.arange(100)
    got = send(storage=tensor.untyped_storage(), part=tensor[:2])
    got["part"][0] = 5
    assert got["storage"].nbytes() == 800
    assert got["storage"][0] == 5


def test_received_memory_can_be_written_small_and_large(send):
    large, small = torch.zeros(1_000_000), torch.zeros(3)
    got = send(large=large, small=small)
    for value in got.values():
        value.add_(1)
        assert value.sum() == value.numel()
    assert got["small"].resize_(5).shape == (5,)
    assert large.sum() == small.sum() == 0


def test_what_one_side_writes_the_file_does_not_see(notebook):
    notebook.names["large"] = torch.zeros(1_000_000)
    notebook.send("large")
    first = notebook.receive().values["large"]
    first += 1
    assert notebook.receive().values["large"].sum() == 0


def test_a_default_device_or_dtype_of_the_other_side_changes_nothing(notebook):
    notebook.names["t"] = torch.ones(3, dtype=torch.float32)
    notebook.send("t")
    out = notebook.rank(
        """
        import pathlib, sys, torch
        torch.set_default_device("meta")
        torch.set_default_dtype(torch.float64)
        from nbtune.payload import unpack
        t = unpack(pathlib.Path(sys.argv[1]), namespace={}).values["t"]
        print(t.device, t.dtype)
        """
    )
    assert out == "cpu torch.float32\n"


def test_a_storage_that_was_freed_is_a_problem_not_a_crash(notebook):
    tensor = torch.zeros(100)
    tensor.untyped_storage().resize_(0)
    notebook.names["tensor"] = tensor
    (problem,) = notebook.pack("tensor").problems
    assert "its storage was freed" in problem.advice


def test_modules_schedulers_and_loaders_arrive(notebook):
    notebook.cell(
        """
        import torch
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.l = torch.nn.Linear(2, 2)
                self.register_buffer("b", torch.ones(2))
        net = Net()
        opt = torch.optim.AdamW(net.parameters(), lr=1.0)
        sch = torch.optim.lr_scheduler.LambdaLR(opt, lambda e: 0.5**e)
        loader = torch.utils.data.DataLoader(torch.arange(8.0), batch_size=2)
        """
    )
    notebook.send("torch", "net", "opt", "sch", "loader")
    out = notebook.rank(
        """
        import io
        opt.step(); sch.step()
        print(opt.param_groups[0]["lr"], sch.optimizer is opt, len(list(loader)))
        file = io.BytesIO()
        torch.save(net, file)
        file.seek(0)
        print(type(torch.load(file, weights_only=False)) is Net)
        """
    )
    assert out == "0.5 True 4\nTrue\n"
