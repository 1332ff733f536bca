"""What machines say of themselves."""

from __future__ import annotations

from tests.support.doctor import picture, source

from tortie.doctor.picture.facts import Clock, Disk, Fact, Load, Process, Route, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers import host


def facts(text: str, command: str = "") -> list[Fact]:
    return list(host.read(Exhibit("e", 1, source(text).lines, "m1", command)))


def settings(text: str, command: str = "") -> dict[tuple[str, str], str]:
    return {(fact.scope, fact.name): fact.value for fact in facts(text, command) if isinstance(fact, Setting)}


def test_load_with_cores() -> None:
    found = facts(" 10:00:01 up 9 days, 1 user,  load average: 61.20, 44.01, 12.5\n4", "uptime; nproc")
    (load,) = (fact for fact in found if isinstance(fact, Load))
    assert (load.one, load.fifteen, load.cores) == (61.2, 12.5, 4)
    (load,) = (fact for fact in facts("30.12 28.11 25.00 5/1234 9999", "cat /proc/loadavg") if isinstance(fact, Load))
    assert load.one == 30.12


def test_processes() -> None:
    found = facts(
        """
        USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
        root        88 12.5  0.7 200100 51000 ?        Sl   Feb03  77:10 calico-node -felix
        root      5120     1  0 10:02 ?        00:00:01 bird -R -s /var/run/calico/bird.ctl
         9999 root      20   0  123m  45m  12m R  99.7  0.1   1:23.45 kubelet
        """
    )
    assert [(p.command.split()[0], p.pid, p.cpu) for p in found if isinstance(p, Process)] == [
        ("calico-node", 88, 12.5),
        ("bird", 5120, None),
        ("kubelet", 9999, 99.7),
    ]
    (one,) = facts("   77 calico-node -confd", "pgrep -a calico")
    assert isinstance(one, Process)
    assert (one.command, one.pid) == ("calico-node -confd", 77)


def test_disks() -> None:
    found = facts("Filesystem Inodes IUsed IFree IUse% Mounted on\n/dev/sda1  655360 655360 0  100% /var", "df -i")
    assert [(d.mount, d.used_percent, d.inodes) for d in found if isinstance(d, Disk)] == [("/var", 100, True)]
    (disk,) = facts("/dev/sda1   40G   39G  1G  97% /")
    assert isinstance(disk, Disk)
    assert (disk.mount, disk.used_percent, disk.inodes) == ("/", 97, False)


def test_memory_and_swap() -> None:
    found = settings(
        "        total used free shared buff/cache available\nMem:  7821 7300 100 1 421 90\nSwap: 2047 0 2047",
        "free -m",
    )
    assert (found["memory", "available"], found["swap", "total"]) == ("90", "2047")
    assert settings("/swapfile file 2G 0B -2", "swapon --show") == {("swap", "/swapfile"): "2G"}


def test_clocks() -> None:
    found = facts("Universal time: Thu 2020-01-02 03:04:05 UTC\nSystem clock synchronized: no\n", "timedatectl")
    (clock,) = (fact for fact in found if isinstance(fact, Clock))
    assert (clock.time, clock.synchronised) == (1577934245.0, False)
    for line in (
        "Thu Jan  2 03:04:05 UTC 2020",
        "Thu 02 Jan 2020 11:04:05 AM CST",
        "2020年 01月 02日 星期四 11:04:05 CST",
    ):
        assert [fact.time for fact in facts(line, "date") if isinstance(fact, Clock)] == [1577934245.0], line
    first, second = facts(
        "n1: Thu Jan  2 03:04:05 UTC 2020\nn2: Thu Jan  2 04:04:05 UTC 2020", "for h in n1 n2; do ssh $h date; done"
    )
    assert isinstance(first, Clock)
    assert isinstance(second, Clock)
    assert (first.host, second.host) == ("n1", "n2")


def test_selinux_mounts_modules() -> None:
    assert settings("Permissive", "getenforce") == {("selinux", "mode"): "Permissive"}
    assert settings("rw,nosuid,nodev,noexec,relatime", "findmnt -no OPTIONS -T /opt/cni/bin") == {
        ("mount", "/opt/cni/bin"): "rw,nosuid,nodev,noexec,relatime"
    }
    assert settings("/dev/sdb on /opt type ext4 (rw,noexec)")["mount", "/opt"] == "rw,noexec"
    assert settings("/sys   private", "findmnt -o TARGET,PROPAGATION /sys") == {
        ("mount-propagation", "/sys"): "private"
    }
    assert settings("ip_set   49152  2 xt_set,ip_set_hash_net", "lsmod | grep ip_set") == {
        ("module", "ip_set"): "loaded"
    }
    assert settings("modprobe: FATAL: Module vxlan not found in directory /lib/modules/5") == {
        ("module", "vxlan"): "missing"
    }
    assert settings("# CONFIG_IP_SET is not set") == {("module", "CONFIG_IP_SET"): "is not set"}


def test_captures_counters_managers_groups() -> None:
    found = settings("listening on eth1, link-type EN10MB\n0 packets captured", "tcpdump -ni eth1 proto 4")
    assert found == {("capture", "eth1"): "0 packets captured"}
    packet = "10:00:00.123456 IP 10.0.0.1 > 10.0.0.2: ICMP host 10.0.0.2 unreachable - admin prohibited, length 68"
    assert settings(packet)["capture", ""] == packet
    assert settings("UdpInCsumErrors   551   0.0", "nstat -az") == {("counter", "UdpInCsumErrors"): "551"}
    assert settings("cali123  ethernet  unmanaged  --", "nmcli dev") == {("link-manager", "cali123"): "unmanaged"}
    assert settings(" 5 cali123  ether  routable  configuring", "networkctl list") == {
        ("link-manager", "cali123"): "configuring"
    }
    assert settings("tcp 1:65535 ingress", "openstack security group rule list x") == {
        ("security-group", "tcp"): "tcp 1:65535 ingress"
    }


def test_a_log_is_no_machine() -> None:
    assert facts("2024-01-01 10:00:00.1 [INFO][9] felix/x.go 1: Applying updates to 10.0.0.1/26 via tunl0") == []


def test_a_date_over_ssh_belongs_to_the_other_machine() -> None:
    found = facts("Thu Jan  2 03:04:05 UTC 2020\nThu Jan  2 05:04:05 UTC 2020", "date; ssh root@w2 date")
    assert [clock.host for clock in found if isinstance(clock, Clock)] == ["m1", "w2"]


def test_disks_that_are_busy() -> None:
    old = """
    Device:  r/s   w/s  avgqu-sz  await r_await w_await  svctm  %util
    sdb    12.00 99.00     88.10 912.50   10.00  990.25   8.80  99.90
    """
    assert settings(old, "iostat -x 1 2")["disk-busy", "sdb"] == "99.9"
    new = """
    Device            r/s     rkB/s  r_await     w/s     wkB/s  w_await  aqu-sz  %util
    nvme0n1          0.10      1.20     0.40    3.00     40.00     0.60    0.01   0.40
    """
    assert settings(new, "iostat -dxk")["disk-busy", "nvme0n1"] == "0.4"


def test_a_black_hole_of_the_old_tools_has_no_link() -> None:
    table = """
    [root@n2 ~]# route -n
    Destination     Gateway         Genmask         Flags Metric Ref    Use Iface
    172.20.8.64     0.0.0.0         255.255.255.192 U     0      0        0 *
    172.20.8.128    172.30.5.13     255.255.255.192 UG    0      0        0 tunl0
    """
    kinds = {route.destination: route.kind for route in picture(table).of(Route)}
    assert kinds == {"172.20.8.64/26": "blackhole", "172.20.8.128/26": ""}
