"""`tortie cni install --classic VERSION`: the same installation, told in the words of that release's install-cni.

For the lab and the doctor's tests. Up to v3.15 that was a shell script, later a program.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import Final

from tortie.cli.cni.placing import Placed
from tortie.model.errors import TortieError
from tortie.node.classic.release import SAYING, Release

_GO_SINCE: Final = (3, 16)
_BIN: Final = "/host/opt/cni/bin"


class ClassicTeller:
    def __init__(self, release: Release) -> None:
        self._release = release
        self._shell = release < _GO_SINCE
        self._say(f"Classic mode: this is Tortie, installing as Calico {release} does, {SAYING}", "WARNING")

    def installed(self, placed: Sequence[Placed]) -> None:
        """Paths are those that the container has for them."""
        for step, trouble in placed:
            name, failed = os.path.basename(step.path), bool(trouble)
            if step.part == "plugin" and not failed and name != "tortie":
                kept = step.verb in ("keep", "skip")
                if not self._shell:
                    text = (
                        f'File is already up to date, skipping file="{_BIN}/{name}"'
                        if kept
                        else f"Installed {_BIN}/{name}"
                    )
                    self._say(text)
        self._say(f"Wrote Calico CNI binaries to {_BIN}")
        self._say(f"CNI plugin version: {self._release}")
        if not self._shell:
            self._say("/host/secondary-bin-dir is not writeable, skipping")
        for step, _ in placed:
            if step.part == "configuration":
                name = os.path.basename(step.path)
                self._say(f"Created CNI config {name}" if self._shell else f"Created /host/etc/cni/net.d/{name}")
        self._say("Done configuring CNI.  Sleep=false" if self._shell else "Done configuring CNI.  Sleep= false")

    def failed(self, error: TortieError) -> None:
        """What stands in the way of a file, then the end."""
        why = error.why.splitlines()[-1].rpartition(": ")[2].lower() if error.why else error.what
        if self._shell:
            self._put(f"cp: can't create '{_BIN}/calico': {why.capitalize()}")
            return
        self._say(f"{_BIN} is not writeable, skipping")
        self._say(f"Failed to install {_BIN}/calico error=open {_BIN}/calico.tmp: {why}", "ERROR")
        self._say("found no writeable directory, exiting", "FATAL")

    def _say(self, text: str, level: str = "INFO") -> None:
        if self._shell:
            self._put(text if level == "INFO" else f"{level}: {text}")
            return
        now = time.time()
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}"
        if self._release < (3, 19):
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
            self._put(f'time="{stamp}" level={level.lower()} msg="{text}" source="install.go:{140}"')
        elif self._release < (3, 25):
            self._put(f"{when} [{level}][1] cni-installer/<nil> <nil>: {text}")
        else:
            self._put(f"{when} [{level}][1] cni-installer/install.go 140: {text}")

    @staticmethod
    def _put(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
