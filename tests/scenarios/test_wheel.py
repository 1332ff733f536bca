"""The package without its checkout: what `pip install tortie` would bring works."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_an_installed_wheel_needs_nothing_of_the_checkout(tmp_path: Path) -> None:
    _run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)], cwd=ROOT)
    (wheel,) = tmp_path.glob("tortie-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert f"tortie/cni/shim-{os.uname().machine}" in names, "it was built without a C compiler: apt-get install gcc"
    site = tmp_path / "site"
    _run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(site), str(wheel)])
    # In front of everything, or the editable install of the checkout would answer instead.
    program = (
        f"import sys; sys.path.insert(0, {str(site)!r})\n"
        "import tortie.cli.main as command\n"
        "print(command.__file__)\n"
        "sys.exit(command.main())"
    )
    store = str(tmp_path / "store.db")
    applied = _run([sys.executable, "-c", program, "apply", "-f", str(ROOT / "examples"), "--store", store])
    assert applied.startswith(str(site))
    assert "Successfully applied 10 resource(s)" in applied
    for name in ("tortie", "kubectl-tortie"):
        program = (site / "bin" / name).read_text()
        assert program.startswith(f"#!{sys.executable}"), "the installer says which Python runs it"


def _run(command: list[str], cwd: Path | None = None) -> str:
    run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout
