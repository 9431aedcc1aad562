"""IPython in a rank, launched for real."""


def test_what_a_cell_prints_is_neither_wrapped_nor_kept(launch):
    job = launch(
        "import sys\n"
        "print('one')\n"
        "print(*('write' in vars(s) for s in (sys.stdout, sys.stderr)))\n"
        "print(len(get_ipython().history_manager.outputs))",
        nproc=1,
    )
    assert job.out(0) == "one\nFalse False\n0\n", job.log
