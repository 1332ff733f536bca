"""Log lines of every form become facts with time, level, program, file, host and pod."""

from __future__ import annotations

import pytest
from tests.support.doctor import picture, source

from tortie.doctor.picture.facts import LogLine
from tortie.doctor.reading.cut import cut
from tortie.doctor.reading.moments import days
from tortie.doctor.reading.readers.logs import origin_of, read, runs, span

DAY = 86400
JAN_2020 = days(2020, 1, 1) * DAY


def lines(text: str) -> list[LogLine]:
    return [fact for exhibit in cut(source(text)) for fact in read(exhibit)]


def one(text: str) -> LogLine:
    (line,) = lines(text)
    return line


@pytest.mark.parametrize(
    ("text", "program", "level", "file", "message"),
    [
        ("2020-01-01 12:50:55.337 [INFO][10] startup.go 256: Early log", "startup", "INFO", "startup.go", "Early log"),
        ("2020-01-01 12:50:55.337 [ERROR][86] felix/health.go 296: x=1", "felix", "ERROR", "health.go", "x=1"),
        ("2020-01-01 12:50:55.337 [FATAL][1] cni-installer/<nil> <nil>: No t", "cni-installer", "FATAL", "", "No t"),
        (
            "2020-01-01 12:50:55.337 [INFO][26] tunnel-ip-allocator/ipam.go 140: a",
            "tunnel-ip-allocator",
            "INFO",
            "ipam.go",
            "a",
        ),
        ("2020-01-01 12:50:55.337 [INFO][2] cni-plugin/plugin.go 325: a", "cni", "INFO", "plugin.go", "a"),
        ("2020-01-01 12:50:55.337 [PANIC][5] ipsets.go 342: Failed", "felix", "PANIC", "ipsets.go", "Failed"),
        ('time="2020-01-01T12:50:55Z" level=info msg="Early \\"log\\"" Name=w1', "", "INFO", "", 'Early "log" Name=w1'),
        (
            'time="2020-01-01T12:50:55Z" level=info msg="done\\n" source="install.go:12"',
            "cni-installer",
            "INFO",
            "install.go",
            "done",
        ),
        ("bird: Mesh_10_0_0_1: State changed to up", "bird", "", "", "Mesh_10_0_0_1: State changed to up"),
        (
            "2020-01-01 12:50:55.337 <WARN> Missing broadcast address",
            "bird",
            "WARNING",
            "",
            "Missing broadcast address",
        ),
        ("[Wed Jan  1 12:50:55 2020] Killed process 1 (x)", "kernel", "", "", "Killed process 1 (x)"),
        ("[  123.456789] IPv4: martian source", "kernel", "", "", "IPv4: martian source"),
        (
            '{"level":"error","ts":"2020-01-01T12:50:55Z","logger":"controller_installation","msg":"bad","error":"no"}',
            "operator",
            "ERROR",
            "",
            "bad error=no",
        ),
        (
            '{"log":"2020-01-01 12:50:55.3 [INFO][1] startup.go 1: a\\n","stream":"stdout","time":"2020-01-01T12:50Z"}',
            "startup",
            "INFO",
            "startup.go",
            "a",
        ),
        (
            "2020-01-01T12:50:55.1Z stderr F E0101 12:50:55.100000       1 proxier.go:9] x",
            "kube-proxy",
            "ERROR",
            "proxier.go",
            "x",
        ),
        (
            "2020-01-01T12:50:55+0800 w-1 kubelet[12]: E0101 12:50:55.100000   12 cni.go:9] x",
            "kubelet",
            "ERROR",
            "cni.go",
            "x",
        ),
        ("Wed 2020-01-01 12:50:55 CST w-1 kubelet[12]: Flag x", "kubelet", "", "", "Flag x"),
        (
            '1月 26 10:37:34 w-1 dockerd[7]: time="2020-01-26T10:37:34+08:00" level=warning msg="m"',
            "dockerd",
            "WARNING",
            "",
            "m",
        ),
        ("Jan 26 10:37:34 w-1 NetworkManager[8]: <info>  [1728899921.2] dhcp4", "NetworkManager", "INFO", "", "dhcp4"),
        (
            "Jan 26 10:37:34 w-1 containerd[8]: 2020-01-26 10:37:34.1 [ERROR][2] cni-plugin/plugin.go 1: z",
            "cni",
            "ERROR",
            "plugin.go",
            "z",
        ),
    ],
)
def test_forms(text: str, program: str, level: str, file: str, message: str) -> None:
    line = one(text)
    assert (line.program, line.level, line.file, line.message) == (program, level, file, message)


def test_times() -> None:
    assert one("2020-01-01 00:00:01.500 [INFO][10] startup.go 256: x").time == JAN_2020 + 1.5
    assert one('time="2020-01-01T08:00:00+08:00" level=info msg=x').time == JAN_2020
    assert one("E0101 00:00:01.000000 1 a.go:1] x").time is None
    assert one('{"level":"info","ts":1577836800.5,"msg":"x"}').time == JAN_2020 + 0.5
    assert days(1970, 1, 1) == 0


def test_a_year_in_the_exhibit_is_lent_to_lines_without() -> None:
    found = lines(
        """
        Jan  1 00:00:01 w-1 kubelet[1]: I0101 00:00:01.500000 1 server.go:417] Version
        Jan  1 00:00:02 w-1 dockerd[2]: time="2020-01-01T00:00:02Z" level=info msg="x"
        """
    )
    assert [line.time for line in found] == [JAN_2020 + 1, JAN_2020 + 2]
    assert {line.host for line in found} == {"w-1"} == {line.clock for line in found}


def test_bare_text_in_a_log_counts_and_the_pod_is_named() -> None:
    found = lines(
        """
        [root@ctl ~]# kubectl logs -f calico-node-abc12 -n kube-system -c calico-node
        time="2020-01-01T00:00:01Z" level=info msg="Early log level set to debug"
        Skipping datastore connection test
        bird: Graceful restart done
        panic: oh
        """
    )
    assert [line.program for line in found] == ["startup", "startup", "bird", "bird"]
    assert {(line.pod, line.host) for line in found} == {("calico-node-abc12", "")}


def test_a_pasted_log_without_command() -> None:
    found = lines(
        """
        Skipping datastore connection test
        Using autodetected IPv4 address 10.2.3.4/24 on matching interface eth0
        """
    )
    assert [line.program for line in found] == ["startup", "startup"]


def test_a_log_whose_first_line_lost_its_beginning() -> None:
    found = lines(
        """
        $ kubectl -n kube-system logs calico-kube-controllers-1-a
        t.go 255: Error getting cluster information
        2020-01-01 00:00:01.000 [ERROR][1] main.go 202: Failed
        """
    )
    assert [(line.message, line.program) for line in found] == [
        ("Error getting cluster information", "kube-controllers"), ("Failed", "kube-controllers"),
    ]  # fmt: skip


def test_libraries_take_the_program_of_their_process() -> None:
    found = lines(
        """
        2020-01-01 00:00:01.000 [INFO][8] startup.go 1: a
        2020-01-01 00:00:02.000 [INFO][61] int_dataplane.go 1: b
        2020-01-01 00:00:03.000 [INFO][8] customresource.go 101: c
        """
    )
    assert [line.program for line in found] == ["startup", "felix", "startup"]


def test_other_outputs_are_no_logs() -> None:
    assert not lines("$ ls -l --time-style=full-iso\n-rw-r--r-- 1 root root 712 2022-10-04 05:02:17 10-calico.conflist")
    assert not lines("$ kubectl get pods\nNAME READY\ncalico-node-a 1/1")
    assert not lines("$ tcpdump -ni eth0\n16:02:11.480100 IP 10.5.20.11 > 10.5.20.12: ICMP echo request")
    assert not lines("$ date\n2020-01-01 00:00:01")
    assert not lines("we saw 2020-01-01 00:00:01.000 [INFO][8] startup.go 1: a, what is it?")


@pytest.mark.parametrize(
    ("command", "log", "pod", "program"),
    [
        ("kubectl logs p-1 -n kube-system -c install-cni", True, "p-1", "cni-installer"),
        ("kubectl -n kube-system logs --tail=5 p-1 upgrade-ipam", True, "p-1", "upgrade-ipam"),
        ("kubectl logs -n kube-system ds/calico-node", True, "", ""),
        ("kubectl logs -l k8s-app=kube-proxy -n kube-system", True, "", "kube-proxy"),
        ("oc logs deploy/calico-typha", True, "", "typha"),
        ("journalctl -xeu kubelet --no-pager", False, "", "kubelet"),
        ("ssh w-1 sudo dmesg -T", True, "", "kernel"),
        ("tail -5 /var/log/calico/cni/cni.log", True, "", "cni"),
    ],
)
def test_origins(command: str, log: bool, pod: str, program: str) -> None:
    origin = origin_of(command)
    assert (origin.log, origin.pod, origin.program, origin.foreign) == (log, pod, program, False)


def test_runs_and_their_span() -> None:
    found = lines(
        """
        2020-01-01 00:00:01.000 [INFO][8] startup.go 1: Early log level set to info
        2020-01-01 00:00:09.000 [INFO][8] startup.go 1: a
        2020-01-01 00:01:01.000 [INFO][8] startup.go 1: Early log level set to info
        2020-01-01 00:01:04.000 [INFO][8] startup.go 1: a
        """
    )
    assert [span(run) for run in runs(found)] == [(JAN_2020 + 1, JAN_2020 + 9), (JAN_2020 + 61, JAN_2020 + 64)]
    assert span([]) is None


def test_kernel_lines_without_a_stamp() -> None:
    text = (
        "kernel: neighbour: arp_cache: neighbor table overflow!\n"
        "cgroup: fork rejected by pids controller in /kubepods/besteffort/pod1\n"
        "libbpf: prog 'calico_connect_v4': failed to attach to cgroup: No such file or directory\n"
        "[UFW BLOCK] IN=cali1234 OUT=ens3 SRC=10.1.2.3 DST=10.96.0.1 PROTO=TCP SPT=5 DPT=443\n"
        "[Tue Mar  5 10:11:12 2024] [UFW BLOCK] IN=cali1234 OUT=ens3 SRC=10.1.2.3 DST=10.96.0.1 PROTO=TCP\n"
    )
    lines = picture(text).of(LogLine)
    assert [line.program for line in lines] == ["kernel", "kernel", "libbpf", "kernel", "kernel"]
    assert lines[0].message.startswith("neighbour: arp_cache")
