"""Which addresses Services of Kubernetes have from their load balancers: the only users that no store knows."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from typing import Any

from tortie.host.kubectl import TIMEOUT_S, Kubectl, need_kubectl
from tortie.ipam.census import Census, Service
from tortie.model.errors import TortieError, UsageError
from tortie.model.network import IP


def with_services(census: Census, kubeconfig: str) -> Census:
    """Only addresses that IPAM has handed out count: other load balancers have others, and are none of our business."""
    if not os.path.isfile(kubeconfig):
        raise UsageError(f"{kubeconfig} cannot be read", "there is no such file", "check --kubeconfig")
    kubectl = Kubectl(need_kubectl("--kubeconfig"), kubeconfig=kubeconfig)
    answer = kubectl.ask("get", "services", "--all-namespaces", "-o", "json", f"--request-timeout={TIMEOUT_S - 5:.0f}s")
    if answer.code:
        what = "the Services of Kubernetes cannot be listed"
        raise TortieError(what, answer.why, f"kubectl --kubeconfig={kubeconfig} get services -A")
    held = {holding.ip for block in census.blocks.values() for holding in block.holdings()}
    return census._replace(services=tuple(services_of(answer.out, held)))


def services_of(text: str, held: Collection[IP]) -> list[Service]:
    """Raises TortieError if the text is no list of Services."""
    from ipaddress import ip_address

    found = []
    try:
        for item in json.loads(text)["items"]:
            if item["spec"].get("type") != "LoadBalancer":
                continue
            status: Any = (item.get("status") or {}).get("loadBalancer") or {}
            ips = [ip_address(ingress["ip"]) for ingress in status.get("ingress") or () if ingress.get("ip")]
            name, namespace = item["metadata"]["name"], item["metadata"].get("namespace", "")
            found += [Service(namespace, name, ip) for ip in ips if ip in held]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        why = f"{type(error).__name__}: {error}"
        raise TortieError("kubectl's answer is no list of Services", why, "is it a kubectl of another kind?") from None
    return found
