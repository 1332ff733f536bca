"""TRT2001: claimed when the real address is shown not to answer; a service address that fails says nothing."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named

REFUSED = (
    "2018-09-12 07:01:12.204 [ERROR][9] startup.go 211: Unable to query node configuration error=client: etcd "
    "cluster is "
    "unavailable or misconfigured; error #0: dial tcp 10.71.2.4:2379: getsockopt: connection refused"
)
VIP = (
    "2022-01-10 09:11:40.100 [INFO][9] startup/startup.go 445: Hit error connecting to datastore - retry error=Get "
    '"https://10.43.0.1:443/api/v1/nodes/foo": dial tcp 10.43.0.1:443: i/o timeout'
)


def test_the_member_is_down() -> None:
    answer = finding(
        "datastore-unreachable",
        f"""
        [root@gx-2 ~]# kubectl -n kube-system logs calico-node-7k2wq -c calico-node --tail=2
        {REFUSED}
        [root@gx-2 ~]# nc -vz -w3 10.71.2.4 2379
        nc: connect to 10.71.2.4 port 2379 (tcp) failed: Connection refused
        [root@etcd-a ~]# systemctl status etcd
        ● etcd.service - etcd key-value store
           Loaded: loaded (/usr/lib/systemd/system/etcd.service; enabled)
           Active: failed (Result: exit-code) since Wed 2018-09-12 06:40:01 UTC; 21min ago
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "10.71.2.4" in answer.objects


def test_quorum_is_lost() -> None:
    answer = finding(
        "datastore-unreachable",
        """
        三台 etcd 挂了两台，calico-node 全部起不来。

        # kubectl get nodes
        The connection to the server 172.22.8.10:6443 was refused - did you specify the right host or port?
        # etcdctl --endpoints=https://172.22.8.10:2379,https://172.22.8.11:2379 endpoint health
        https://172.22.8.11:2379 is unhealthy: failed to commit proposal: context deadline exceeded
        https://172.22.8.10:2379 is unhealthy: failed to connect: dial tcp 172.22.8.10:2379: connect: connection refused
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.8


def test_the_real_address_answers() -> None:
    answer = finding(
        "datastore-unreachable",
        f"""
        $ kubectl -n kube-system logs calico-node-7k2wq --tail=1
        {REFUSED}
        $ curl -s http://10.71.2.4:2379/health
        {{"health": "true"}}
        """,
    )
    assert answer.state == "ruled-out"


def test_a_service_address_alone_is_a_symptom() -> None:
    answer = finding("datastore-unreachable", f"$ kubectl -n kube-system logs calico-node-x\n{VIP}")
    assert answer.strength < 0.8


def test_a_refused_member_alone_may_be_a_wrong_endpoint() -> None:
    assert finding("datastore-unreachable", f"$ docker logs calico-node\n{REFUSED}").strength < 0.8


def test_silence_on_the_loopback_is_the_hosts_own_trouble() -> None:
    silent = "nc: connect to 127.0.0.1 port 2379 (tcp) timed out: Operation now in progress"
    assert finding("datastore-unreachable", f"[root@m2 ~]# nc -vz -w3 127.0.0.1 2379\n{silent}").state != "found"
    refused = "nc: connect to 127.0.0.1 port 2379 (tcp) failed: Connection refused"
    assert finding("datastore-unreachable", f"[root@m2 ~]# nc -vz -w3 127.0.0.1 2379\n{refused}").state == "found"


def test_kubectl_without_a_kubeconfig_says_nothing_about_the_server() -> None:
    text = "The connection to the server localhost:8080 was refused - did you specify the right host or port?"
    assert finding("datastore-unreachable", f"# kubectl get nodes\n{text}").state != "found"


def test_etcdctl_is_never_pointed_at_the_api_server() -> None:
    cause = cause_named("datastore-unreachable")
    assert cause is not None
    for address, asks_etcd in (("10.71.2.4:6443", False), ("10.71.2.4:2379", True)):
        shown = picture(f"$ docker logs calico-node\nerror=dial tcp {address}: connect: connection refused")
        commands = [step.command for step in cause.fix(shown, cause.judge(shown))]
        assert any("etcdctl" in command for command in commands) == asks_etcd
        assert any("ssh 10.71.2.4 " in command for command in commands)


def test_a_server_that_answers_again_was_only_restarted() -> None:
    refused = """
        $ kubectl get nodes
        The connection to the server 10.71.2.4:6443 was refused - did you specify the right host or port?
        """
    later = """
        $ kubectl -n kube-system get pods -o wide
        NAME                READY   STATUS    RESTARTS   AGE   IP          NODE
        calico-node-7k2wq   1/1     Running   2          9d    10.71.2.4   gx-1
        calico-node-m4d8s   1/1     Running   1          9d    10.71.2.5   gx-2
        """
    assert finding("datastore-unreachable", refused).strength >= 0.8
    assert finding("datastore-unreachable", refused + later).state != "found"
    assert finding("datastore-unreachable", later + refused).strength >= 0.8


def test_one_of_three_servers_is_missed_by_nobody() -> None:
    def pods(ready: str) -> str:
        return f"""
        {VIP}
        $ kubectl -n kube-system get pods
        NAME                  READY   STATUS    RESTARTS   AGE
        kube-apiserver-gx-1   {ready}     Running   0          9d
        kube-apiserver-gx-2   0/1     Running   7          9d
        """

    assert finding("datastore-unreachable", pods("1/1")).strength < 0.8
    assert finding("datastore-unreachable", pods("0/1")).strength >= 0.9


def test_the_unit_of_a_program_that_runs_as_a_pod() -> None:
    unit = f"""
        {VIP}
        [root@gx-1 ~]# systemctl status etcd
        ● etcd.service - etcd key-value store
           Loaded: loaded (/usr/lib/systemd/system/etcd.service; disabled)
           Active: inactive (dead)
        """
    pod = "[root@gx-1 ~]# kubectl get pods -A | grep etcd\nkube-system   etcd-gx-1   1/1   Running   0   34d\n"
    assert finding("datastore-unreachable", unit).strength >= 0.9
    assert finding("datastore-unreachable", unit + pod).strength < 0.8


def test_etcd_behind_the_api_server_need_not_listen_to_workers() -> None:
    said = "nc: connect to 10.71.2.4 port 2379 (tcp) failed: Connection refused"
    test = f"[root@gx-7 ~]# nc -vz -w3 10.71.2.4 2379\n{said}\n"
    assert finding("datastore-unreachable", f"{VIP}\n{test}").strength < 0.8
    told = 'etcd_endpoints: "https://10.71.2.4:2379"\n'
    assert finding("datastore-unreachable", f"{VIP}\n{told}{test}").strength >= 0.9


def test_other_servers_at_common_ports() -> None:
    def asked(port: int) -> str:
        return (
            f"[root@gx-7 ~]# curl -m 5 https://140.82.121.4:{port}\n"
            f"curl: (28) Failed to connect to 140.82.121.4 port {port}: Connection timed out\n"
        )

    assert finding("datastore-unreachable", asked(443)).state != "found"
    assert finding("datastore-unreachable", asked(6443)).strength >= 0.9


GONE = """
calico-node:
2023-11-28 10:31:11.940 [INFO][9] startup/startup.go 485: Hit error connecting to datastore - retry error=Get \
"https://10.50.0.100:6443/api/v1/nodes/foo": dial tcp 10.50.0.100:6443: connect: no route to host
w2:~# ping -c1 10.50.0.100
{ping}
w2:~# curl -sk https://10.50.0.11:6443/healthz
ok
"""


def test_the_balancers_address_is_gone_and_the_servers_answer() -> None:
    lost = "From 10.50.0.22 icmp_seq=1 Destination Host Unreachable"
    answer = finding("datastore-unreachable", GONE.format(ping=lost))
    assert (answer.rule, answer.objects[0], answer.strength >= 0.9) == ("balancer-gone", "10.50.0.100", True)
    there = (
        "64 bytes from 10.50.0.100: icmp_seq=1 ttl=64 time=0.4 ms\n1 packets transmitted, 1 received, 0% packet loss"
    )
    assert finding("datastore-unreachable", GONE.format(ping=there)).state == "ruled-out"
