"""Readers: each knows some forms by their content and turns an exhibit's lines into typed facts.

A reader is a module with `read(exhibit) -> Iterator[Fact]`. It takes what it recognises and ignores the rest, so that
several may read one exhibit; the places of their facts are the lines that were understood.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from tortie.doctor.picture.facts import Fact, Interface, Ping, PortTest
from tortie.doctor.picture.machine_facts import OF_POD
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.inside_pods import pod_of

Reader = Callable[[Exhibit], Iterator[Fact]]

# The kernel's modules put these into every namespace, down and unused: a pod's say nothing of its node's.
_IN_EVERY_NAMESPACE: Final = frozenset(
    ("tunl0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0", "sit0", "ip6tnl0", "ip6gre0")
)
READERS: Final = (
    "kubectl_tables",  # get pods, nodes, ds, events, crd, ep ... as tables, cut and piped ones too
    "describe",  # describe pod, node, ds, whole or a part of it
    "documents",  # YAML and JSON: resources, lists, fragments such as a livenessProbe alone
    "settings",  # environment variables, sysctl, jsonpath answers, greps of manifests, key: value fragments
    "logs",  # every form of log line
    "statements",  # what people say in prose
    "calicoctl",  # node status, get nodes/ippool/bgppeer ... tables, ipam show/check, checksystem
    "bird",  # birdcl show protocols
    "ip",  # ip addr, link, route, rule, neigh; ifconfig; /sys/class/net
    "sockets",  # ss, netstat, lsof
    "trials",  # nc, telnet, curl, ping, /dev/tcp, openssl s_client
    "host",  # uptime, top, free, df, ps, nproc, swapon, date, timedatectl, getenforce, mount, lsmod
    "firewall",  # iptables, nft, firewalld, ufw, ipvsadm, ipset
    "files",  # ls, find, stat, cat of small files
    "units",  # systemctl, crictl, docker ps
    "certificates",  # openssl x509, kubeadm certs check-expiration
    "agent",  # tortie node explain, timeline
    "machines",  # gcloud, aws, az, openstack, virsh ...: machines and their addresses
    "numbers",  # answers that are one number
    "actions",  # what people did: systemctl stop, iptables -P, kubectl delete ...
)


@cache
def readers() -> tuple[Reader, ...]:
    return tuple(importlib.import_module(f"{__name__}.{name}").read for name in READERS)


def read(exhibit: Exhibit) -> Iterator[Fact]:
    if exhibit.form and not exhibit.command:
        exhibit = exhibit._replace(command=exhibit.form)
    pod = pod_of(exhibit)
    for reader in readers():
        for fact in reader(exhibit):
            if not pod:
                yield fact
            elif isinstance(fact, Interface):
                if fact.name not in _IN_EVERY_NAMESPACE:
                    yield fact._replace(host=OF_POD + pod)
            else:
                yield fact._replace(pod=pod) if isinstance(fact, (PortTest, Ping)) else fact
