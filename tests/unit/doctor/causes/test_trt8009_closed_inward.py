"""TRT8009: a policy of kube-system lets only its own namespace in, and DNS is silent to all others."""

from __future__ import annotations

from tests.support.doctor import finding

ID = "networkpolicy-blocks-system-pods"
DESCRIBED = """
$ kubectl -n kube-system describe netpol allow-same-ns
Name:         allow-same-ns
Namespace:    kube-system
Spec:
  PodSelector:     <none> (Allowing the specific traffic to all pods in this namespace)
  Allowing ingress traffic:
    To Port: <any> (traffic allowed to all ports)
    From:
      {}
  Not affecting egress traffic
  Policy Types: Ingress
"""
WRITTEN = """
$ kubectl -n kube-system get netpol closed -o yaml
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: closed
  namespace: kube-system
spec:
  podSelector: {}
  policyTypes:
  - Ingress
"""
ALLOWS = """---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: names
  namespace: kube-system
spec:
  podSelector:
    matchLabels:
      k8s-app: kube-dns
  ingress:
  - ports:
    - {protocol: UDP, port: 53}
"""
SILENT = """
$ kubectl -n shop exec deploy/web -- nslookup kubernetes.default
;; connection timed out; no servers could be reached
"""
INSIDE = """
$ kubectl -n kube-system exec deploy/metrics-server -- nslookup kubernetes.default
Name:      kubernetes.default.svc.cluster.local
Address: 10.96.0.1
"""
READY = """
$ kubectl get pods -n kube-system -l k8s-app=kube-dns
NAME                       READY   STATUS    RESTARTS   AGE
coredns-565d847f94-6xb2s   1/1     Running   0          60d
"""


def test_dns_answers_its_own_namespace_only() -> None:
    closed = DESCRIBED.format("PodSelector: <none>")
    assert finding(ID, closed + SILENT + INSIDE).strength >= 0.9
    assert finding(ID, closed + SILENT + READY).strength >= 0.8
    assert finding(ID, closed + SILENT).strength < 0.8
    assert finding(ID, closed + INSIDE).strength < 0.8
    assert finding(ID, DESCRIBED.format("NamespaceSelector: <none>") + SILENT + INSIDE).strength < 0.8
    assert finding(ID, closed.replace("kube-system", "shop") + SILENT + READY).strength < 0.8


def test_written_out() -> None:
    answer = finding(ID, WRITTEN + SILENT + READY)
    assert answer.strength >= 0.8
    assert answer.objects[0] == "closed"
    assert finding(ID, WRITTEN + ALLOWS + SILENT + READY).strength < 0.8


def test_one_beside_it_is_named_after_dns() -> None:
    listed = (
        "$ kubectl -n kube-system get netpol\nNAME        POD-SELECTOR       AGE\nallow-dns   k8s-app=kube-dns   3h\n"
    )
    assert finding(ID, listed + WRITTEN + SILENT + READY).strength < 0.8
