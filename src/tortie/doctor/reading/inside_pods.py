"""Shells inside of pods: what was typed at `/ #` was typed in a container, not on the host that the paste began on.

A session begins with `kubectl exec -it POD -- sh` or `kubectl run -it POD …` and ends with `exit` or with the prompt at
which it began. Without such a command the prompt alone tells: busybox shows a folder and nothing else, and bash the
name of the pod.
"""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.host_pods import on_host_network
from tortie.doctor.reading.commands import pod_asked, program_of, word_set
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.prompts import Prompt

UNNAMED: Final = "?"  # a pod, and nothing says which
_TERMINAL: Final = frozenset(("-it", "-ti", "-i", "-t", "--stdin", "--tty", "-i=true", "--stdin=true"))
_SHELLS: Final = frozenset(("sh", "bash", "ash", "dash", "zsh"))
_BUSYBOX: Final = lazily(r"^/(?:\w[\w./-]{0,40})? [#$] {1,4}$|^dnstools# {0,4}$")
# bash where no image set a prompt; `sh-4.2$` is also how some clouds' agents open a shell on a machine.
_BARE_BASH: Final = lazily(r"^bash-\d[\d.]{0,6}[#$] {1,4}$|^sh-\d[\d.]{0,6}# {1,4}$")
_NAMELESS: Final = lazily(r"^(?:[#$]|(?:[~/][\w./~-]{0,40} ?)[#$]) {1,4}$|^(?:ba)?sh-\d[\d.]{0,6}[#$] {1,4}$")
_OF_NODES: Final = word_set(
    "kubectl oc k calicoctl systemctl journalctl service crictl docker nerdctl podman ctr iptables iptables-save "
    "iptables-legacy iptables-nft ip6tables nft ipset ipvsadm nsenter chroot kubeadm kubelet etcdctl birdcl modprobe "
    "lsmod dmesg conntrack firewall-cmd nmcli hostnamectl ssh helm tortie"
)
_ONE: Final = r"(?:(?:a|an|the|that|this|any|one|another|my|our|some) )?(?:[\w.-]{1,30} ){0,2}?"
_INSIDE: Final = lazily(
    rf"\b(?:(?:inside|within|from)(?: of)?|in(?=[^:]{{1,60}}:$)) {_ONE}(?:pod|container|runner)s?\b"
    r"(?![ -](?:runtime|engine|network|cidr|range|subnet|log|ip\b))"
    r"|\bexec(?:'d|ed|ing)? (?:in)?to\b"
    rf"|\b(?:go|went|going|got) in(?:to|side)? (?:of )?{_ONE}(?:pod|container|runner)\b"
    r"|(?:进入?|进到|登录到?) ?(?:某个|这个|该|业务)? ?(?:pod|容器|[\w-]{0,20}runner|busybox) ?[里内中]"
    r"|(?:pod|容器|runner) ?(?:里面?|内部?|中) ?(?:执行|测|试|看|curl|ping|访问|[:：]|$)"
    r"|进(?:入|到)?了? ?(?:pod|容器)",
    re.IGNORECASE,
)
# An agent's pod is one on its node's network.
_NODES_NAMED: Final = lazily(
    r"calico|canal|kube-proxy|host ?network|\bnodes?\b|\bhosts?\b|\bmachines?\b|节点|宿主机?|主机", re.IGNORECASE
)
_ANNOUNCES: Final = 300  # characters of a line that people write above what they typed
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
        self._on_node = False  # the session is one on a node: `oc debug node/…`
        self._of_nodes: set[str] = set()  # bare prompts at which tools of nodes were typed
        self._announced = False

    def told(self, line: str) -> None:
        """A person's sentence above what was typed: it says where, or ends what an earlier one said."""
        short = line[:_ANNOUNCES]
        match = _INSIDE.search(short)
        self._announced = match is not None and not _NODES_NAMED.search(short[: match.end()])

    def pod(self, shown: Prompt) -> str:
        """The pod of a prompt, empty for a host's."""
        pod = self._here(shown)
        if shown.command.partition(";")[0].strip() in ("exit", "logout"):
            self._pod, self._on_node = "", False
        elif entered := _entered(shown.command):
            self._pod, self._outer, self._on_node = entered, shown.stem, False
        elif _opens_node(shown.command):
            self._pod, self._outer, self._on_node = "", shown.stem, True
        return "" if on_host_network(pod) else pod

    def _here(self, shown: Prompt) -> str:
        if self._pod and (shown.stem == self._outer or (shown.host and not self._pod.startswith(shown.host))):
            self._pod = ""
        if self._on_node and (shown.stem == self._outer or shown.host):
            self._on_node = False
        if self._pod and shown.stem:
            return self._pod
        if _BUSYBOX.match(shown.stem):
            return UNNAMED
        if _NAMELESS.match(shown.stem):
            return UNNAMED if self._nameless_inside(shown) else ""
        return shown.host if _OF_A_SET.match(shown.host) else ""

    def _nameless_inside(self, shown: Prompt) -> bool:
        """A prompt that names no machine: by how it looks, or by what was said above it."""
        if program_of(shown.command.partition(" ")[0]) in _OF_NODES:
            self._of_nodes.add(shown.stem)
            self._announced = False
        if self._on_node or (shown.stem in self._of_nodes and not self._announced):
            return False
        return self._announced or _BARE_BASH.match(shown.stem) is not None


def _opens_node(command: str) -> bool:
    """A shell on the network of a node, whatever its prompt looks like."""
    words = command.split()
    if "debug" in words[:3] and any(word.startswith(("node/", "nodes/")) for word in words):
        return True
    # By the runtime it is entered by an id, which may be the agent's.
    return (
        "exec" in words[:4] and words[0] in ("docker", "crictl", "nerdctl", "podman", "ctr") and not _entered(command)
    )


def _entered(command: str) -> str:
    """The pod whose shell a command opens: there is no other program for it to run."""
    words = command.split()
    if not words or not _TERMINAL.intersection(words):
        return ""
    opens = words[-1].rpartition("/")[2] in _SHELLS or ("run" in words and "--" not in words)
    return pod_asked(command) if opens else ""
