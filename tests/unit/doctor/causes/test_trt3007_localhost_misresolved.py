"""TRT3007: `localhost` asked from DNS or leading elsewhere; a URL with 127.0.0.1 is not about names."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

ID = "localhost-misresolved"


def test_felix_asks_dns() -> None:
    text = """
$ kubectl -n kube-system logs calico-node-p9s8t | tail -2
2023-02-20 19:40:11.020 [ERROR][64] felix/health.go 296: Health endpoint failed, trying to restart it... error=listen tcp: lookup localhost on 172.31.0.2:53: no such host
2023-02-20 19:40:12.031 [ERROR][64] felix/health.go 296: Health endpoint failed, trying to restart it... error=listen tcp: lookup localhost on 172.31.0.2:53: no such host
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert answer.objects[0] == "localhost"
    assert "172.31.0.2" in answer.objects


def test_a_search_domain_leads_elsewhere() -> None:
    text = """
泛解析把 localhost 指到了公网地址。
Warning  Unhealthy  2m (x30 over 10m)  kubelet  Liveness probe failed: Get "http://localhost:9099/liveness": dial tcp 203.0.113.80:9099: connect: connection refused
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "203.0.113.80" in answer.objects


def test_typha_cannot_bind() -> None:
    text = (
        "2020-06-03 10:00:00.120 [ERROR][7] health.go 242: Health endpoint failed, trying to restart it... "
        "error=listen tcp 198.51.100.7:9098: bind: cannot assign requested address"
    )
    assert finding(ID, text).strength >= 0.9


def test_only_v6_while_felix_answers_on_v4() -> None:
    text = """
Liveness probe failed: Get "http://localhost:9099/liveness": dial tcp [::1]:9099: connect: connection refused
root@a1:~# ss -lntp | grep 9099
LISTEN 0 4096 127.0.0.1:9099 0.0.0.0:* users:(("calico-node",pid=3311,fd=11))
"""
    assert finding(ID, text).strength >= 0.8


def test_v6_refused_alone_may_be_a_felix_that_is_down() -> None:
    text = (
        'Liveness probe failed: Get "http://localhost:9099/liveness": dial tcp [::1]:9099: connect: connection refused'
    )
    assert finding(ID, text).strength < 0.8


def test_a_url_with_an_address_is_not_about_localhost() -> None:
    text = "Liveness probe failed: Get http://127.0.0.1:9099/liveness: dial tcp 10.9.8.7:9099: getsockopt: connection refused"
    assert finding(ID, text).state != "found"


def test_a_good_hosts_file_rules_it_out() -> None:
    text = "root@a1:~# cat /etc/hosts\n127.0.0.1 localhost localhost.localdomain\n10.0.0.5 a1"
    assert finding(ID, text).state == "ruled-out"


def test_a_line_whose_url_and_dial_disagree_is_remarked_not_blamed() -> None:
    text = "Liveness probe failed: Get http://127.0.0.1:9099/liveness: dial tcp 10.55.9.7:9099: connection refused"
    answer = finding("localhost-misresolved", text)
    assert answer.state == "ruled-out"
    assert "10.55.9.7" in answer.why.en


def test_what_an_application_looks_up_is_its_own_matter() -> None:
    line = "ERROR dial tcp: lookup localhost on 10.96.0.10:53: no such host"
    pods = "\n$ kubectl -n kube-system get pods | grep calico-node\ncalico-node-g7b2m   0/1   Running   0   4d\n"
    assert finding(ID, f"$ kubectl -n shop logs cart-5c9b8fd6d4-x7zkq\n{line}\n{pods}").state != "found"
    assert finding(ID, f"$ kubectl -n kube-system logs calico-node-g7b2m\n{line}\n{pods}").strength >= 0.9


def test_agents_that_are_ready_have_their_endpoint() -> None:
    line = "2024-01-08 10:11:12.100 [ERROR][77] felix/health.go 246: Health endpoint failed, trying to restart it... error=listen tcp: lookup localhost on 8.8.8.8:53: no such host\n"
    pods = "$ kubectl -n kube-system get pods | grep calico-node\ncalico-node-g7b2m   {ready}   Running   61 (6d ago)   300d\n"
    assert finding(ID, line + pods.format(ready="1/1")).state == "ruled-out"
    assert finding(ID, line + pods.format(ready="0/1")).strength >= 0.9
