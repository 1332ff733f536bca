"""Services and containers of a machine."""

from __future__ import annotations

from tests.support.doctor import picture, source

from tortie.doctor.picture.facts import Fact, Setting, Unit
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers import units


def facts(text: str, command: str = "") -> list[Fact]:
    return list(units.read(Exhibit("e", 1, source(text).lines, "m1", command)))


def settings(text: str, command: str = "") -> list[tuple[str, str, str, str]]:
    return [(f.scope, f.name, f.value, f.owner) for f in facts(text, command) if isinstance(f, Setting)]


def test_status() -> None:
    found = facts(
        """
        ● kubelet.service - kubelet: The Kubernetes Node Agent
           Loaded: loaded (/lib/systemd/system/kubelet.service; disabled; vendor preset: enabled)
           Active: activating (auto-restart) (Result: exit-code) since Mon 2021-01-04 10:00:00 UTC; 3s ago
         Main PID: 4711 (code=exited, status=1/FAILURE)
        """,
        "systemctl status kubelet",
    )
    (unit,) = (fact for fact in found if isinstance(fact, Unit))
    assert (unit.name, unit.active, unit.detail) == ("kubelet", "activating", "auto-restart; exited 1/FAILURE")
    assert ("unit", "enabled", "disabled", "kubelet") in settings(
        "Loaded: loaded (/x; disabled; y)\nActive: active (running)", "systemctl status kubelet"
    )


def test_short_answers() -> None:
    found = facts("active\ninactive", "systemctl is-active docker firewalld")
    assert [(f.name, f.active) for f in found if isinstance(f, Unit)] == [
        ("docker", "active"),
        ("firewalld", "inactive"),
    ]
    found = facts("nm-cloud-setup.timer  loaded active waiting Automatic", "systemctl list-units")
    assert [(f.name, f.active, f.detail) for f in found if isinstance(f, Unit)] == [
        ("nm-cloud-setup.timer", "active", "waiting")
    ]
    found = facts(
        "Mon 2021 3min left Mon 2021 1min ago nm-cloud-setup.timer nm-cloud-setup.service", "systemctl list-timers"
    )
    assert [(f.name, f.active) for f in found if isinstance(f, Unit)] == [("nm-cloud-setup.timer", "active")]


def test_variables_of_a_unit() -> None:
    found = settings(
        '[Service]\nEnvironment="HTTPS_PROXY=http://p:3128" NO_PROXY=10.0.0.1\n', "systemctl cat containerd"
    )
    assert ("env", "HTTPS_PROXY", "http://p:3128", "containerd") in found
    assert ("env", "NO_PROXY", "10.0.0.1", "containerd") in found


def test_containers() -> None:
    found = settings(
        "4e1f0b6a9c2d3   9f0e1d2c3b4a5   2 hours ago   Exited   install-cni   4   aa11bb22cc33d   calico-node-x",
        "crictl ps -a",
    )
    assert found == [("runtime-container", "install-cni", "Exited, 2 hours ago", "calico-node-x")]
    found = settings(
        '0a1b2c3d4e5f   f5e4d3c2b1a0   "/x"   2 days ago   Up 2 days      k8s_flexvol-driver_calico-node-q_ns_u_0',
        "docker ps -a",
    )
    assert found == [
        ("runtime-container", "flexvol-driver", "Up 2 days", "calico-node-q"),
        ("runtime-id", "0a1b2c3d4e5f", "flexvol-driver", "calico-node-q"),
    ]


def test_a_runtime_that_does_not_answer() -> None:
    assert settings("^C", "docker ps") == [("runtime", "docker", "hangs", "")]
    line = 'level=fatal msg="validate service connection: rpc error: context deadline exceeded"'
    assert settings(line, "crictl ps")[0][:3] == ("runtime", "crictl", "deadline exceeded")


def test_what_the_runtime_knows_of_cni() -> None:
    found = settings(
        """
              "lastCNILoadStatus": "cni config load failed: no network config found in /etc/cni/net.d",
              "confDir": "/etc/cni/net.d",
        """,
        "crictl info | grep -i cni",
    )
    assert [(scope, name) for scope, name, *_ in found] == [
        ("containerd", "lastCNILoadStatus"),
        ("containerd", "confDir"),
    ]
    assert found[1][2] == "/etc/cni/net.d"
    found = settings('"reason": "NetworkPluginNotReady",\n"status": false,\n"type": "NetworkReady"', "crictl info")
    assert ("containerd", "NetworkReady", "false", "") in found


def test_a_call_that_was_stopped_in_vain() -> None:
    hangs = ("runtime", "hangs")
    for command in (
        "docker ps -a",
        "sudo crictl inspect 0a1b2c",
        "crictl exec 0a1b2c ls /",
        "docker rm -f calico-node",
    ):
        assert hangs in [(scope, value) for scope, _, value, _ in settings("^C", command)]
    for command in (
        "docker logs -f calico-node", "docker logs --tail 5 -f x", "docker stats", "docker attach x", "docker events",
        "docker top x", "crictl stats", "crictl exec -it 0a1b2c bash", "docker exec x ping 10.0.0.1", "docker run x",
    ):  # fmt: skip
        assert settings("^C", command) == []
    assert settings("124", "timeout 20 crictl pods; echo $?") == [("runtime", "crictl", "hangs", "")]


def test_ids_and_published_ports() -> None:
    found = settings(
        "9c8b7a6f5e4d calico/node:v3.20.1 Up 5 weeks k8s_calico-node_calico-node-old7x_kube-system_77_0",
        "docker ps --format '{{.ID}} {{.Image}} {{.Status}} {{.Names}}'",
    )
    assert ("runtime-id", "9c8b7a6f5e4d", "calico-node", "calico-node-old7x") in found
    row = '0a1b2c3d4e5f  reg/x:1  "/x"  2 days ago  Up 2 days  0.0.0.0:9099->80/tcp, :::9099->80/tcp, 53/udp  shop'
    assert ("published-port", "9099", "80", "shop") in settings(row, "docker ps")
    format_ = "docker ps --format '{{.Names}} {{.Ports}}'"
    assert settings("shop 127.0.0.1:9099->80/tcp", format_) == [("published-port", "9099", "80", "shop")]


def test_units_that_are_dead_in_every_wording() -> None:
    text = """\
$ systemctl list-units --failed
  UNIT               LOAD   ACTIVE SUB    DESCRIPTION
● kube-proxy.service loaded failed failed Kubernetes Kube Proxy
$ systemctl is-failed kube-proxy
inactive
$ service kube-proxy status
kube-proxy is stopped
$ supervisorctl status
kube-proxy                       FATAL     Exited too quickly (process log may have details)
$ cat note
kube-proxy.service: inactive (dead)
"""
    units = [(unit.name, unit.active) for unit in picture(text).of(Unit)]
    assert units == [("kube-proxy", state) for state in ("failed", "inactive", "inactive", "failed", "inactive")]
