"""TRT2002: a missing scheme, addresses that are no members, another port than the healthy one."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named

DIALS = (
    "2019-04-02 11:20:09.781 [ERROR][8] startup.go 204: Unable to access datastore to query node configuration "
    "error=dial tcp 10.50.1.13:2379: i/o timeout"
)


def test_no_scheme() -> None:
    answer = finding(
        "datastore-endpoint-wrong",
        """
        $ kubectl -n kube-system get ds calico-node -o yaml | grep -A1 ETCD_ENDPOINTS
                - name: ETCD_ENDPOINTS
                  value: 10.4.4.20:2379,10.4.4.21:2379
        $ kubectl -n kube-system logs calico-node-qq1xz
        ERROR: Unable to access datastore to query node configuration
        Terminating
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "ETCD_ENDPOINTS" in answer.objects


def test_the_member_was_replaced() -> None:
    answer = finding(
        "datastore-endpoint-wrong",
        f"""
        $ kubectl -n kube-system get cm calico-config -o jsonpath='{{.data.etcd_endpoints}}'
        https://10.50.1.11:2379,https://10.50.1.13:2379
        $ kubectl -n kube-system logs calico-node-5gk6f | tail -2
        {DIALS}
        2019-04-02 11:20:09.790 [WARNING][8] startup.go 1058: Terminating
        $ etcdctl member list
        2a1b3c, started, m1, https://10.50.1.11:2380, https://10.50.1.11:2379
        8f7e6d, started, m4, https://10.50.1.14:2380, https://10.50.1.14:2379
        """,
    )
    assert answer.strength >= 0.9
    assert "10.50.1.13" in answer.objects


def test_wrong_port() -> None:
    answer = finding(
        "datastore-endpoint-wrong",
        """
        calico 起不来，日志：
        2019-04-02 11:20:09.781 [ERROR][8] startup.go 204: Unable to access datastore error=dial tcp \
        10.9.0.7:4001: connect: connection refused

        [root@n1 ~]# curl -s http://10.9.0.7:2379/health
        {"health":"true"}
        """,
    )
    assert answer.strength >= 0.8


def test_a_member_that_does_not_answer_is_not_wrong() -> None:
    answer = finding(
        "datastore-endpoint-wrong",
        f"""
        $ kubectl -n kube-system get ds calico-node -o yaml | grep -A1 ETCD_ENDPOINTS
                - name: ETCD_ENDPOINTS
                  value: https://10.50.1.13:2379
        $ kubectl -n kube-system logs calico-node-5gk6f
        {DIALS}
        $ etcdctl member list
        2a1b3c, started, m1, https://10.50.1.13:2380, https://10.50.1.13:2379
        """,
    )
    assert answer.strength < 0.8


def test_the_symptom_alone() -> None:
    assert finding("datastore-endpoint-wrong", f"$ docker logs calico-node\n{DIALS}").strength < 0.8


def test_the_placeholder_of_the_manifest_was_never_filled_in() -> None:
    answer = finding(
        "datastore-endpoint-wrong",
        """
        $ kubectl -n kube-system get cm calico-config -o jsonpath='{.data.etcd_endpoints}'
        http://<ETCD_IP>:<ETCD_PORT>
        """,
    )
    assert answer.strength >= 0.8
    assert "etcd_endpoints" in answer.objects


RETIRED = """
$ kubectl -n kube-system get cm calico-config -o yaml | grep endpoints
  etcd_endpoints: {endpoints}
$ kubectl -n kube-system logs calico-node-5gk6f | tail -2
2019-04-02 11:20:09.781 [ERROR][8] startup.go 145: Unable to access datastore to query node configuration error=context deadline exceeded
2019-04-02 11:20:09.790 [WARNING][8] startup.go 1058: Terminating
$ etcdctl member list
2a1b3c, started, m7, https://10.50.1.17:2380, https://10.50.1.17:2379
8f7e6d, started, m8, https://10.50.1.18:2380, https://10.50.1.18:2379
"""  # noqa: E501


def test_no_configured_address_is_a_member() -> None:
    text = RETIRED.format(endpoints="https://10.50.1.11:2379,https://10.50.1.12:2379")
    answer = finding("datastore-endpoint-wrong", text)
    assert answer.strength >= 0.9
    assert "etcd_endpoints" in answer.objects


def test_one_address_may_be_a_balancer_and_members_are_right() -> None:
    for endpoints in ("https://10.50.1.100:2379", "https://10.50.1.17:2379,https://10.50.1.18:2379"):
        assert finding("datastore-endpoint-wrong", RETIRED.format(endpoints=endpoints)).strength < 0.8


def test_a_member_that_is_down_among_others_is_no_stranger() -> None:
    evidence = """
        $ kubectl -n kube-system logs calico-kube-controllers-64f-q8n
        2026-11-16 16:11:04.036 [ERROR][1] main.go 233: Failed to verify datastore error=rpc error: code = Unavailable \
        desc = connection error: desc = "transport: Error while dialing dial tcp 10.77.0.252:2379: connect: connection \
        refused"
        $ etcdctl --endpoints=http://10.77.0.251:2379,http://10.77.0.252:2379,http://10.77.0.253:2379 endpoint health
        http://10.77.0.251:2379 is healthy: successfully committed proposal: took = 2.1ms
        http://10.77.0.253:2379 is healthy: successfully committed proposal: took = 2.3ms
        http://10.77.0.252:2379 is unhealthy: failed to commit proposal: context deadline exceeded
"""
    assert finding("datastore-endpoint-wrong", evidence).state != "found"


def test_an_endpoint_that_is_healthy_as_configured_is_not_another_one() -> None:
    answer = finding(
        "datastore-endpoint-wrong",
        """
        $ kubectl -n kube-system get cm calico-config -o yaml | grep endpoints
          etcd_endpoints: http://10.77.0.253:2379
        $ docker logs etcd
        rafthttp: health check for peer could not connect: dial tcp 10.77.0.253:2380: connect: connection refused
        $ etcdctl --endpoints=http://10.77.0.253:2379 endpoint health
        http://10.77.0.253:2379 is healthy: successfully committed proposal: took = 2.1ms
        """,
    )
    assert answer.state != "found"


def test_the_fix_names_the_members_with_their_own_scheme() -> None:
    shown = picture(RETIRED.format(endpoints="http://10.50.1.11:2379,http://10.50.1.12:2379").replace("https", "http"))
    cause = cause_named("datastore-endpoint-wrong")
    assert cause is not None
    commands = [step.command for step in cause.fix(shown, cause.judge(shown))]
    assert any("http://10.50.1.17:2379,http://10.50.1.18:2379" in command for command in commands)


def test_one_of_several_members_is_down() -> None:
    def asked(endpoints: str) -> str:
        return f"""
        etcd_endpoints: "{endpoints}"
        {DIALS}
        # curl -sk https://10.50.1.14:2379/health
        {{"health":"true"}}
        """

    moved = finding("datastore-endpoint-wrong", asked("https://10.50.1.13:2379"))
    assert (moved.state, moved.strength >= 0.8) == ("found", True)
    member = finding("datastore-endpoint-wrong", asked("https://10.50.1.13:2379,https://10.50.1.14:2379"))
    assert member.strength < 0.8


def test_a_template_that_nobody_filled_in() -> None:
    text = """
Apr 18 15:52:10 w2 kubelet[1744]: E0418 15:52:10.388251    1744 cni.go:257] Error adding network: client: etcd cluster is unavailable or misconfigured; error #0: unsupported protocol scheme ""
core@w2 ~ $ cat /etc/kubernetes/cni/net.d/10-calico.conf
{
    "name": "calico",
    "type": "calico",
    "etcd_endpoints": "#ETCD_ENDPOINTS#",
    "ipam": { "type": "host-local", "subnet": "usePodCidr" }
}
"""  # noqa: E501
    answer = finding("datastore-endpoint-wrong", text)
    assert (answer.rule, answer.strength >= 0.9) == ("placeholder", True)
    quiet = "\n".join(line for line in text.splitlines() if "unsupported" not in line)
    assert finding("datastore-endpoint-wrong", quiet).strength < 0.8


def test_who_waits_for_members_that_were_moved() -> None:
    text = """
$ kubectl -n kube-system get cm calico-config -o yaml | grep etcd_endpoints
  etcd_endpoints: https://10.50.1.11:2379,https://10.50.1.12:2379
$ etcdctl member list
1c70f9bbb41018f4, started, e1, https://10.50.1.17:2380, https://10.50.1.17:2379, false
6f9e2a3c1d6c8e11, started, e2, https://10.50.1.18:2380, https://10.50.1.18:2379, false
$ kubectl -n kube-system logs calico-kube-controllers-6c7d8f4b7d-gq5xk
[FATAL][1] main.go 147: Failed to initialize Calico datastore error=context deadline exceeded
"""
    moved = finding("datastore-endpoint-wrong", "We moved etcd to new hardware.\n" + text)
    assert (moved.rule, moved.strength >= 0.9) == ("retired-members", True)
    assert finding("datastore-endpoint-wrong", text).strength < 0.8


def test_moved_members_that_only_say_to_be_healthy() -> None:
    text = """
$ kubectl -n kube-system get cm calico-config -o yaml | grep etcd_endpoints
  etcd_endpoints: https://10.50.1.11:2379,https://10.50.1.12:2379
$ etcdctl --endpoints=https://10.50.1.17:2379,https://10.50.1.18:2379 endpoint health
https://10.50.1.17:2379 is healthy: successfully committed proposal: took = 8.3ms
https://10.50.1.18:2379 is healthy: successfully committed proposal: took = 9.1ms
$ kubectl -n kube-system logs calico-node-5bgtz
2021-11-22 10:20:51.901 [INFO][8] startup/startup.go 376: Hit error connecting to datastore - retry error=context deadline exceeded
"""  # noqa: E501
    moved = finding("datastore-endpoint-wrong", "Our etcd was moved to new machines last week.\n" + text)
    assert (moved.rule, moved.strength >= 0.9) == ("retired-members", True)
    assert finding("datastore-endpoint-wrong", text).strength < 0.8  # it may be another cluster's, or the API server's
