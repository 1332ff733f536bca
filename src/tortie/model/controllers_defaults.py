"""What Calico's controllers write as KubeControllersConfiguration `default` when they find none. Pure."""

from __future__ import annotations

from typing import Final

from tortie.model.wire import Document

_RECONCILER: Final[Document] = {"reconcilerPeriod": "5m0s"}

DEFAULT_SPEC: Final[Document] = {
    "logSeverityScreen": "Info",
    "healthChecks": "Enabled",
    "etcdV3CompactionPeriod": "10m0s",
    "prometheusMetricsPort": 9094,
    "controllers": {
        "node": {
            **_RECONCILER,
            "syncLabels": "Enabled",
            "hostEndpoint": {"autoCreate": "Disabled", "createDefaultHostEndpoint": "Enabled"},
            "leakGracePeriod": "15m0s",
        },
        **dict.fromkeys(("policy", "workloadEndpoint", "serviceAccount", "namespace"), _RECONCILER),
        "loadBalancer": {"assignIPs": "AllServices"},
        "policyMigration": {"enabled": "Enabled"},
    },
}
