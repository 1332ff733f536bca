"""The kubeconfig for plugins that talk to Kubernetes themselves. Pure; its text is a secret."""

from __future__ import annotations

import base64
import json
from typing import Final, NamedTuple

from tortie.model.errors import UsageError

_PROTOCOLS: Final = ("https", "http")


class Access(NamedTuple):
    """How the API server is reached from a pod of this machine."""

    protocol: str
    host: str
    port: str
    token: str
    ca: bytes | None  # None: whatever certificate it shows is believed

    def __repr__(self) -> str:  # secrets are never printed, not even by accident
        return f"Access({self.server})"

    @property
    def server(self) -> str:
        host = f"[{self.host}]" if ":" in self.host and not self.host.startswith("[") else self.host
        return f"{self.protocol}://{host}:{self.port}"


def check_access(access: Access) -> None:
    if access.protocol not in _PROTOCOLS:
        why = f"KUBERNETES_SERVICE_PROTOCOL is '{access.protocol}'"
        raise UsageError("the API server's address makes no sense", why, f"use {' or '.join(_PROTOCOLS)}")
    if not access.port.isdigit() or not 0 < int(access.port) < 65536:
        why = f"KUBERNETES_SERVICE_PORT is '{access.port}'"
        raise UsageError("the API server's address makes no sense", why, "it is a number such as 443")


def kubeconfig_text(access: Access) -> str:
    """YAML as kubectl writes it; every value is quoted as JSON, which YAML reads, too."""
    if access.ca is None:
        trust = "insecure-skip-tls-verify: true"
    else:
        trust = f"certificate-authority-data: {json.dumps(base64.b64encode(access.ca).decode())}"
    return "\n".join(
        (
            "# Kubeconfig file for Calico CNI plugin. Installed by tortie.",
            "apiVersion: v1",
            "kind: Config",
            "clusters:",
            "- name: local",
            "  cluster:",
            f"    server: {json.dumps(access.server)}",
            f"    {trust}",
            "users:",
            "- name: calico",
            "  user:",
            f"    token: {json.dumps(access.token)}",
            "contexts:",
            "- name: calico-context",
            "  context:",
            "    cluster: local",
            "    user: calico",
            "current-context: calico-context",
            "",
        )
    )
