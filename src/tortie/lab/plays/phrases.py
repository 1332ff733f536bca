"""What several plays type and say."""

from __future__ import annotations

from typing import Final

from tortie.lab.words import Pair

ALL_PODS: Final = "lab kubectl get pods -n kube-system"
PODS: Final = "lab kubectl get pods -n kube-system -l k8s-app=calico-node -o wide"

WHAT_PEOPLE_SEE: Final = Pair("What people see", "人们看到的现象")
WHERE_TO_LOOK: Final = Pair("Where to look", "该看哪里")
