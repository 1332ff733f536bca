"""TRT2011: a proxy answers or fails in the API's place; a plain time-out is not a proxy."""

from __future__ import annotations

from tests.support.doctor import finding
from tests.support.fixes import fixes

SANDBOX = (
    "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "
    '"9c": plugin type="calico" failed (add): error getting ClusterInformation: Get "https://10.96.0.1:443/apis/'
    'crd.projectcalico.org/v1/clusterinformations/default": {}'
)


def test_proxyconnect() -> None:
    answer = finding(
        "http-proxy-intercepts", SANDBOX.format("proxyconnect tcp: dial tcp 172.31.255.8:3128: i/o timeout")
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "NO_PROXY" in answer.objects


def test_service_unavailable_with_variables() -> None:
    answer = finding(
        "http-proxy-intercepts",
        f"""
        新建的 Pod 都卡在 ContainerCreating，calico-node 是 1/1。

        {SANDBOX.format("Service Unavailable")}

        [root@w2 ~]# systemctl show containerd -p Environment
        Environment=HTTP_PROXY=http://proxy.corp:8080 HTTPS_PROXY=http://proxy.corp:8080 NO_PROXY=localhost,127.0.0.1
        """,
    )
    assert answer.strength >= 0.9
    assert "containerd" in answer.objects


def test_the_service_range_is_excepted() -> None:
    answer = finding(
        "http-proxy-intercepts",
        """
        $ kubectl logs calico-node-x -c install-cni
        dial tcp 10.96.0.1:443: i/o timeout
        [root@w2 ~]# systemctl show containerd -p Environment
        Environment=HTTPS_PROXY=http://proxy.corp:8080 NO_PROXY=localhost,10.96.0.0/12
        """,
    )
    assert answer.state == "ruled-out"


def test_a_plain_time_out() -> None:
    answer = finding("http-proxy-intercepts", SANDBOX.format("dial tcp 10.96.0.1:443: i/o timeout"))
    assert answer.strength < 0.8


def test_image_pulls_through_a_proxy() -> None:
    text = (
        'Failed to pull image "quay.io/calico/node:v3.25.0": proxyconnect tcp: dial tcp 172.31.255.8:3128: i/o timeout'
    )
    assert finding("http-proxy-intercepts", text).strength < 0.8


def test_another_machines_exceptions_do_not_count() -> None:
    evidence = f"""
        {SANDBOX.format("Service Unavailable")}
        [root@w2 ~]# systemctl show containerd -p Environment
        Environment=HTTPS_PROXY=http://proxy.corp:8080 NO_PROXY=localhost,.corp
        [root@w1 ~]# systemctl show containerd -p Environment
        Environment=HTTPS_PROXY=http://proxy.corp:8080 NO_PROXY=localhost,10.96.0.0/12
        """
    answer = finding("http-proxy-intercepts", evidence)
    assert answer.strength >= 0.95
    assert "NO_PROXY does not except it" in answer.why.en


def test_the_fix_keeps_what_is_excepted() -> None:
    commands = fixes(
        "http-proxy-intercepts",
        f"""
        {SANDBOX.format("Service Unavailable")}
        [root@w2 ~]# systemctl show docker -p Environment
        Environment=HTTPS_PROXY=http://proxy.corp:8080 NO_PROXY=localhost,.corp
        """,
    )
    written = next(command for command in commands if "no-proxy.conf" in command)
    assert "NO_PROXY=localhost,127.0.0.1,.corp,10.96.0.1/32," in written
    assert "docker.service.d" in written
    assert any("kubectl drain w2" in command for command in commands)


def test_the_environment_file_that_sets_the_proxy_is_named_and_mended() -> None:
    text = f"""{SANDBOX.format("Service Unavailable")}
[root@dmz-4 ~]# cat /etc/sysconfig/k3s-agent
HTTPS_PROXY=http://outbound.corp.example:8080
NO_PROXY=localhost,127.0.0.0/8,172.16.0.0/12
"""
    answer = finding("http-proxy-intercepts", text)
    assert answer.culprits[0].name == "/etc/sysconfig/k3s-agent"
    commands = fixes("http-proxy-intercepts", text)
    assert any(command.startswith("sed -i") and "/etc/sysconfig/k3s-agent" in command for command in commands)
    assert any("restart k3s-agent" in command for command in commands)


def test_the_plugin_puts_the_address_into_brackets() -> None:
    text = """
      Warning  FailedCreatePodSandBox  11s  kubelet, w4   Failed create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "7d6d": error getting ClusterInformation: Get https://[10.96.0.1]:443/apis/crd.projectcalico.org/v1/clusterinformations/default: Service Unavailable
    w4:~$ systemctl show containerd --property=Environment
    Environment=HTTPS_PROXY=http://10.1.4.80:3128 NO_PROXY=localhost,127.0.0.1
    """  # noqa: E501
    answer = finding("http-proxy-intercepts", text)
    assert answer.strength >= 0.95
    assert "10.1.4.80:3128" in answer.objects


def test_somebody_elses_way_through_the_proxy() -> None:
    fails = "proxyconnect tcp: dial tcp 172.31.255.8:3128: connect: connection refused"
    assert (
        finding("http-proxy-intercepts", f'Get "https://github.com/acme/app.git/info/refs": {fails}').state != "found"
    )
    assert finding("http-proxy-intercepts", f'Get "https://k8s.acme.net:6443/api/v1/nodes": {fails}').strength >= 0.9


def test_words_of_other_proxies() -> None:
    answer = finding("http-proxy-intercepts", SANDBOX.format("Tunnel or SSL Forbidden"))
    assert (answer.state, answer.strength >= 0.9) == ("found", True)


def test_a_proxy_of_somebodys_own_shell() -> None:
    said = "Unable to connect to the server: proxyconnect tcp: dial tcp 172.31.255.8:3128: connect: connection refused"
    assert finding("http-proxy-intercepts", said).state != "found"


def test_a_proxy_that_is_not_asked_for_that_address() -> None:
    text = SANDBOX.format("Service Unavailable") + "\n# systemctl show containerd -p Environment\n"
    told = "Environment=HTTPS_PROXY=http://172.31.255.8:3128 NO_PROXY=localhost"
    assert finding("http-proxy-intercepts", f"{text}{told}\n").strength >= 0.9
    assert finding("http-proxy-intercepts", f"{text}{told},10.96.0.0/12\n").strength < 0.8
