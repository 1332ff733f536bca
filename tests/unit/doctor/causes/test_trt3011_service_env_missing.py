"""TRT3011: the variables are missing in the container; present ones rule it out."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

ID = "service-env-missing"
UNDEFINED = (
    "2020-03-03 12:00:01.101 [FATAL][55] confd.go 41: unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
    "KUBERNETES_SERVICE_PORT must be defined"
)


def test_confd_says_so() -> None:
    text = f"""
$ kubectl -n kube-system logs calico-node-g6r5d | tail -1
{UNDEFINED}
$ kubectl -n kube-system exec calico-node-g6r5d -- sv status /etc/service/enabled/bird
down: /etc/service/enabled/bird: 1s, normally up, want up
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "KUBERNETES_SERVICE_HOST" in answer.objects
    assert "calico-node-g6r5d" in answer.objects


def test_only_the_fatal_line() -> None:
    answer = finding(ID, f"控制面恢复后有一个节点没有 BGP 路由，日志：\n{UNDEFINED}")
    assert answer.state == "found"
    assert answer.strength >= 0.8


def test_present_variables_rule_it_out() -> None:
    text = """
$ kubectl -n kube-system exec calico-node-g6r5d -- sh -c 'env | grep KUBERNETES_SERVICE'
KUBERNETES_SERVICE_HOST=10.96.0.1
KUBERNETES_SERVICE_PORT=443
"""
    assert finding(ID, text).state == "ruled-out"


def test_bird_not_ready_is_not_enough() -> None:
    text = "Readiness probe failed: calico/node is not ready: BIRD is not ready: Failed to stat() nodename file"
    assert finding(ID, text).state == "cannot-tell"


def test_another_program_that_misses_them_is_no_agent() -> None:
    line = "panic: unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined\n"
    assert finding(ID, f"$ kubectl logs -n infra backup-operator-6f5d7d-k2l7x\n{line}").state != "found"
    assert finding(ID, f"$ kubectl logs -n kube-system calico-node-6rb2k\n{line}").strength >= 0.9


def test_an_exec_that_fails_has_shown_nothing() -> None:
    asked = "$ kubectl -n kube-system exec calico-node-6rb2k -- env | grep KUBERNETES_SERVICE\n"
    failed = "Error from server: error dialing backend: dial tcp 10.11.0.3:10250: i/o timeout\n"
    assert finding(ID, asked + failed).state != "found"
    assert finding(ID, asked + "command terminated with exit code 1\n").state == "found"


def test_a_plugin_that_was_told_of_no_server() -> None:
    text = """
[root@c8 ~]# docker logs b86b34431a5a
    "kubernetes": {
        "k8s_api_root": "https://:",
    }
[root@c8 ~]# docker inspect -f '{{range .Config.Env}}{{println .}}{{end}}' b86b34431a5a | grep -c KUBERNETES_
0
Mar 03 14:22:24 c8 kubelet[2199]: E0303 14:22:24.200285    2199 cni.go:255] Error adding network: \
Get https:///api/v1/namespaces/kube-system/pods/web: http: no Host in request URL
"""
    assert finding(ID, text).strength >= 0.95
