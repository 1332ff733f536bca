"""`tortie cni uninstall`: takes back what `install` put there, and nothing of anybody else's."""

from __future__ import annotations

import os
from typing import Any

from tortie.cli.cni.carrying import taken_back
from tortie.cli.cni.placing import Placed, place, present
from tortie.cli.cni.telling import show
from tortie.cni.install import Part, Step
from tortie.cni.install_carried import OURS
from tortie.cni.install_settings import (
    MOUNTED_BIN_FOLDERS,
    MOUNTED_CONF_FOLDER,
    PLUGINS,
    Flags,
    read_install_settings,
)
from tortie.model.errors import UsageError
from tortie.node.paths import Paths

# Ours are known by these words in them; a configuration only if it calls one of our plugins.
_OURS: dict[Part, tuple[bytes, ...]] = {
    "plugin": (OURS,),
    "kubeconfig": (b"Installed by tortie",),
    "configuration": (b'"calico"', b'"tortie"'),
}
_LOOKED_AT = 4 << 20


def uninstall(*, root: str, dry_run: bool, output: str, **flags: Any) -> int:
    if output not in ("text", "json"):
        raise UsageError(f"unrecognized output format '{output}'", "there is no such form", "use text or json")
    paths = Paths(os.path.abspath(root))
    mounted = [path for path in (*MOUNTED_BIN_FOLDERS, MOUNTED_CONF_FOLDER) if os.path.isdir(paths.below(path))]
    given = Flags(**{name: value for name, value in flags.items() if value})
    settings = read_install_settings(given, os.environ, mounted)
    folder = paths.below(settings.conf_folder)
    programs = [os.path.join(paths.below(each), name) for each in settings.bin_folders for name in PLUGINS]
    plugins = [step for path in programs if (step := _step(path, "plugin"))]
    configuration = _step(os.path.join(folder, settings.conf_name), "configuration")
    if configuration and plugins and not any(step.verb == "remove" for step in plugins):
        configuration = configuration._replace(verb="skip", why="its plugins are not from Tortie")
    kubeconfig = _step(os.path.join(folder, settings.kubeconfig), "kubeconfig")
    # Runtimes must not find a configuration whose plugins are gone: it goes first.
    carried = [step for each in settings.bin_folders for step in taken_back(paths.below(each))]
    steps = [step for step in (configuration, kubeconfig, *plugins, *carried) if step]
    placed = [Placed(step) for step in steps] if dry_run else place(steps)
    show(placed, [], dry_run=dry_run, output=output, removing=True)
    return 0


def _step(path: str, part: Part) -> Step | None:
    there = present(path, _LOOKED_AT)
    if there is None:
        return None
    if not any(word in there.content for word in _OURS[part]):
        return Step("skip", path, part, "it is not from Tortie")
    return Step("remove", path, part)
