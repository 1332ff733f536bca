"""`tortie node entrypoints`: links by which programs of Calico are called, to this command.

Nobody gets them by installing the package: where Calico itself is, its programs must stay what they are, and a link
called `install` in a PATH would hide the system's own. So it takes one step that says so, and no file of anybody else
is replaced.
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import Final, Literal, NamedTuple

from tortie.model.errors import TortieError, UsageError
from tortie.model.kinds import nearest
from tortie.model.wire import to_json

# Where the images of Calico have them, and so where manifests look for them.
PLACES: Final = {
    "calico-node": "/usr/bin/calico-node",
    "start_runit": "/usr/sbin/start_runit",
    "calico-ipam": "/opt/cni/bin/calico-ipam",
    "install": "/opt/cni/bin/install",
    "install-cni.sh": "/install-cni.sh",
}
_USUAL: Final = ("calico-node",)

Verb = Literal["create", "keep", "remove", "refuse"]


class Link(NamedTuple):
    path: str
    verb: Verb
    why: str = ""


def entrypoints(*, names: list[str], everything: bool, remove: bool, dry_run: bool, output: str, root: str) -> int:
    if output not in ("text", "json"):
        raise UsageError(f"unrecognized output format '{output}'", "there is no such form", "use text or json")
    wanted = list(PLACES) if everything else names or list(_USUAL)
    for name in wanted:
        if name not in PLACES:
            near = nearest(name, PLACES)
            fix = f"did you mean {near}?" if near else f"known are {', '.join(PLACES)}"
            raise UsageError(f"unknown entry point '{name}'", "no program of Calico that is known here", fix)
    target = _this_command()
    links = [
        _link(os.path.join(root, PLACES[name].lstrip("/")), target, remove=remove) for name in dict.fromkeys(wanted)
    ]
    refused = [link for link in links if link.verb == "refuse"]
    if refused:
        raise TortieError(
            f"{refused[0].path} is there already",
            f"{refused[0].why}, and no file of anybody else is replaced; nothing was done",
            "leave that name out, or move the file away if it is not needed",
        )
    if not dry_run:
        for link in links:
            _place(link, target)
    _tell(links, target, output)
    return 0


def _this_command() -> str:
    found = shutil.which(sys.argv[0]) or shutil.which("tortie")
    if found is None:
        raise TortieError("the command `tortie` is not found", "a link needs something to point at", "put it into PATH")
    return os.path.abspath(found)


def _link(path: str, target: str, *, remove: bool) -> Link:
    try:
        told = os.readlink(path)
    except FileNotFoundError:
        return Link(path, "keep" if remove else "create", "it is not there" if remove else "")
    except (OSError, ValueError):
        return Link(path, "refuse", "it is no link of ours")
    if told == target:
        return Link(path, "remove" if remove else "keep", "" if remove else "it is right")
    return Link(path, "refuse", f"it is a link to {told}")


def _place(link: Link, target: str) -> None:
    try:
        if link.verb == "remove":
            os.unlink(link.path)
        elif link.verb == "create":
            os.makedirs(os.path.dirname(link.path), exist_ok=True)
            os.symlink(target, link.path)
    except OSError as error:
        fix = "run as root, or choose another --root"
        raise TortieError(f"{link.path} cannot be changed", error.strerror or str(error), fix) from None


def _tell(links: list[Link], target: str, output: str) -> None:
    if output == "json":
        body = [{"path": link.path, "action": link.verb, "why": link.why} for link in links]
        sys.stdout.write(to_json({"target": target, "links": body}) + "\n")
        return
    for link in links:
        arrow = f" -> {target}" if link.verb == "create" else ""
        why = f" ({link.why})" if link.why else ""
        sys.stdout.write(f"{link.verb:<6} {link.path}{arrow}{why}\n")
