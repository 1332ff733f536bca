"""Shells inside of pods: what was typed at `/ #` was typed in a container, not on the host that the paste began on.

A session begins with `kubectl exec -it POD -- sh` or `kubectl run -it POD …` and ends with `exit` or with the prompt at
which it began. Without such a command the prompt alone tells: busybox shows a folder and nothing else, and bash the
name of the pod.
"""

from __future__ import annotations

from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.host_pods import on_host_network
from tortie.doctor.reading.commands import pod_asked
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.prompts import Prompt

UNNAMED: Final = "?"  # a pod, and nothing says which
_TERMINAL: Final = frozenset(("-it", "-ti", "-i", "-t", "--stdin", "--tty", "-i=true", "--stdin=true"))
_SHELLS: Final = frozenset(("sh", "bash", "ash", "dash", "zsh"))
_BUSYBOX: Final = lazily(r"^/(?:\w[\w./-]{0,40})? [#$] {1,4}$|^dnstools# {0,4}$")
_LETTERS: Final = "[bcdf-hj-np-tv-xz2456789]"  # Kubernetes makes names of these
_OF_A_SET: Final = lazily(rf"^[a-z0-9][a-z0-9.-]{{0,200}}-{_LETTERS}{{8,10}}-{_LETTERS}{{5}}$")


def pod_of(exhibit: Exhibit) -> str:
    """The pod with a network of its own in which a command ran: by its words, or by the shell it was typed in."""
    pod = (pod_asked(exhibit.command) or exhibit.pod) if exhibit.command else ""
    return "" if on_host_network(pod) else pod


class Shells:
    """Which pod the prompts of one source belong to, as they come."""

    def __init__(self) -> None:
        self._pod = ""
        self._outer = ""  # the prompt at which the session began

    def pod(self, shown: Prompt) -> str:
        """The pod of a prompt, empty for a host's."""
        pod = self._here(shown)
        if shown.command.partition(";")[0].strip() in ("exit", "logout"):
            self._pod = ""
        elif entered := _entered(shown.command):
            self._pod, self._outer = entered, shown.stem
        return "" if on_host_network(pod) else pod

    def _here(self, shown: Prompt) -> str:
        if self._pod and (shown.stem == self._outer or (shown.host and not self._pod.startswith(shown.host))):
            self._pod = ""
        if self._pod and shown.stem:
            return self._pod
        if _BUSYBOX.match(shown.stem):
            return UNNAMED
        return shown.host if _OF_A_SET.match(shown.host) else ""


def _entered(command: str) -> str:
    """The pod whose shell a command opens: there is no other program for it to run."""
    words = command.split()
    if not words or not _TERMINAL.intersection(words):
        return ""
    opens = words[-1].rpartition("/")[2] in _SHELLS or ("run" in words and "--" not in words)
    return pod_asked(command) if opens else ""
