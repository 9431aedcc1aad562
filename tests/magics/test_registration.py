"""Loading and unloading the extension."""

import subprocess
import sys

LOADED = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
def names():
    magics = shell.magics_manager.magics
    return "torchrun" in magics["cell"], "torchrun_defaults" in magics["line"]
before = names()
shell.run_line_magic("load_ext", "nbtune")
shell.run_line_magic("load_ext", "nbtune")
shell.run_line_magic("reload_ext", "nbtune")
loaded = names()
shell.run_line_magic("unload_ext", "nbtune")
assert (before, loaded, names()) == ((False,) * 2, (True,) * 2, (False,) * 2)
"""


def test_loading_may_be_repeated_and_unloading_takes_everything_away():
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
