"""What a machine says of itself counts only if it may be a node; what kubectl prints there counts."""

from __future__ import annotations

from tests.support.doctor import picture

from tortie.doctor.picture.facts import Load, Session, Setting
from tortie.doctor.picture.whose import foreign_hosts

NODES = """\
{prompt} kubectl get nodes -o wide
NAME    STATUS   ROLES    AGE   VERSION   INTERNAL-IP   EXTERNAL-IP
wren    Ready    <none>   41d   v1.27.4   10.0.0.4      <none>
finch   Ready    <none>   41d   v1.27.4   10.0.0.5      <none>
"""
BUSY = """\
{prompt} uptime
 10:00:00 up 3 days,  2 users,  load average: 41.20, 40.11, 38.00
{prompt} sysctl net.ipv4.ip_forward
net.ipv4.ip_forward = 0
"""
LINKS = """\
{prompt} ip -br addr
lo       UNKNOWN   127.0.0.1/8
ens3     UP        {address}/24
"""
STATUS = """\
{prompt} calicoctl node status
Calico process is not running.
{prompt} kubectl -n kube-system exec calico-node-x7 -- birdcl show protocols
Mesh_10_0_0_5 BGP      master   up     10:00:00    Established
"""


def on(prompt: str, text: str, address: str = "192.168.7.2") -> str:
    return text.format(prompt=prompt, address=address)


def test_a_laptop_is_no_node() -> None:
    seen = picture(on("me@thinkpad:~$", NODES + BUSY + STATUS))
    assert foreign_hosts(picture("")) == frozenset()
    assert seen.of(Load) == []
    assert seen.setting("net.ipv4.ip_forward") is None
    assert seen.settings("process", "calicoctl") == []
    assert [session.peer for session in seen.of(Session)] == ["10.0.0.5"]
    assert set(seen.nodes_now()) == {"wren", "finch"}
    assert "thinkpad" in seen.skipped[0].why.en


def test_a_name_that_says_nothing_needs_addresses_that_are_nobodys() -> None:
    assert picture(on("root@vm:~#", NODES + BUSY)).of(Load)
    assert not picture(on("root@vm:~#", NODES + BUSY + LINKS)).of(Load)
    assert picture(on("root@vm:~#", NODES + BUSY + LINKS, "10.0.0.5")).of(Load)


def test_a_node_is_one_by_its_short_name_and_by_what_runs_there() -> None:
    assert picture(on("root@wren:~#", NODES + BUSY + LINKS)).of(Load)
    assert picture(on("root@WREN.example.org:~#", NODES + BUSY)).of(Load)
    kubelet = "{prompt} systemctl is-active kubelet\nactive\n"
    assert picture(on("root@heron:~#", NODES + BUSY + kubelet)).of(Load)
    assert picture(on("root@k8s-7:~#", NODES + BUSY)).of(Load)
    named = "{prompt} hostname\nfinch\n"
    assert picture(on("root@heron:~#", NODES + BUSY + named)).of(Load)


def test_without_a_list_of_nodes_every_machine_counts() -> None:
    assert picture(on("me@thinkpad:~$", BUSY)).of(Load)
    one = "{prompt} kubectl get node wren\nNAME  STATUS  ROLES   AGE  VERSION\nwren  Ready   <none>  1d   v1.27.4\n"
    assert picture(on("me@thinkpad:~$", one + BUSY)).of(Load)


def test_logs_that_were_saved_on_a_laptop_are_the_clusters() -> None:
    log = "{prompt} cat felix.log\nFELIX_BPFENABLED=true\n"
    own = "{prompt} cat /etc/environment\nHTTP_PROXY=http://10.9.9.9:3128\n"
    seen = picture(on("me@thinkpad:~$", NODES + log + own))
    assert [s.name for s in seen.of(Setting) if s.scope == "env"] == ["FELIX_BPFENABLED"]
