"""The certificates of a lab whose etcd speaks TLS: its CA, etcd's and the clients', and bad ones for faults.

They are made once for a lab, in `<lab>/tls`. Every machine gets its own copies, where Calico's pods have them, so that
one of them can be given a bad one.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Final

from tortie.host.files import write_whole
from tortie.lab.plan import LabPlan, Machine
from tortie.lab.registry import LabFolder
from tortie.lab.x509 import Key, Subject, certificate, make_key

SECRETS: Final = "/calico-secrets"  # of a node: where Calico's manifest mounts the secret calico-etcd-secrets
CLIENT_FILES: Final = {"etcd-ca": "ca.pem", "etcd-cert": "client.pem", "etcd-key": "client.key"}
SERVER: Final = "/tls"  # of a machine that runs etcd
SERVER_FILES: Final = {"ca.pem": "ca.pem", "server.pem": "server.pem", "server.key": "server.key"}
SPARE: Final = ("expired.pem", "tomorrow.pem", "other-ca.pem")  # for faults; the first two fit etcd's own key

_DAY: Final = timedelta(days=1)
_CA: Final = "tortie lab CA"
_OTHER_CA: Final = "tortie lab CA of another cluster"


def tls_folder(folder: LabFolder) -> str:
    return os.path.join(folder.path, "tls")


def client_files(lab: str) -> dict[str, str]:
    """What the lab itself shows to etcd, by the names of the client's settings."""
    made = os.path.join(lab, "tls")
    return {
        "ca_file": os.path.join(made, "ca.pem"),
        "cert_file": os.path.join(made, "client.pem"),
        "key_file": os.path.join(made, "client.key"),
    }


def provide(plan: LabPlan, folder: LabFolder) -> None:
    """Makes what is missing, and leaves everything else as it is: also what a fault has put there."""
    if not plan.store.tls:
        return
    made = tls_folder(folder)
    hosts = tuple(sorted({"127.0.0.1", "localhost", *(str(store.address) for store in plan.stores)}))
    if _read(made, "hosts") != "\n".join(hosts):
        _write(made, certificates(hosts, datetime.now(UTC)) | {"hosts": "\n".join(hosts)})
        _give(plan.nodes, SECRETS, CLIENT_FILES, folder, anew=True)
        _give(plan.stores, SERVER, SERVER_FILES, folder, anew=True)
    else:
        _give(plan.nodes, SECRETS, CLIENT_FILES, folder)
        _give(plan.stores, SERVER, SERVER_FILES, folder)


def texts(folder: LabFolder) -> dict[str, str]:
    """The spare certificates by the names of their files; none in a lab without TLS."""
    return {name: text for name in SPARE if (text := _read(tls_folder(folder), name))}


def certificates(hosts: tuple[str, ...], now: datetime) -> dict[str, str]:
    """All files of a lab by name. They last for weeks, like no lab."""
    begin, end = now - _DAY, now + 60 * _DAY
    ca, other, server, client = (make_key() for _ in range(4))

    def signed(name: str, key: Key, since: datetime, until: datetime, hosts: tuple[str, ...] = ()) -> str:
        return certificate(Subject(name, since, until, hosts), key, _CA, ca)

    return {
        "ca.pem": certificate(Subject(_CA, begin, end, authority=True), ca, _CA, ca),
        "server.pem": signed("etcd", server, begin, end, hosts),
        "server.key": server.pem,
        "client.pem": signed("calico-node", client, begin, end),
        "client.key": client.pem,
        "expired.pem": signed("etcd", server, now - 366 * _DAY, now - _DAY, hosts),
        "tomorrow.pem": signed("etcd", server, now + _DAY, now + 366 * _DAY, hosts),
        "other-ca.pem": certificate(Subject(_OTHER_CA, begin, end, authority=True), other, _OTHER_CA, other),
    }


def _give(
    machines: tuple[Machine, ...], place: str, files: dict[str, str], folder: LabFolder, *, anew: bool = False
) -> None:
    for machine in machines:
        target = folder.machine(machine.name) + place
        missing = {name for name in files if anew or not os.path.exists(os.path.join(target, name))}
        _write(target, {name: _read(tls_folder(folder), files[name]) for name in missing})


def _write(folder: str, files: dict[str, str]) -> None:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for name, text in files.items():
        write_whole(os.path.join(folder, name), text.encode(), 0o600)


def _read(folder: str, name: str) -> str:
    try:
        with open(os.path.join(folder, name)) as file:
            return file.read()
    except FileNotFoundError:
        return ""
