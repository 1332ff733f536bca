"""Lines that say by themselves that something is wrong, in whatever output they stand: crashes, failed trials.

Readers turn forms into facts; this is the net below them for what has no form. It only ever keeps the doctor from
calling a cluster healthy, and gives it something to quote: nothing here names a cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place

_FATAL: Final = re.compile(
    r"(?:^|[\s:|])panic: |^\s*fatal error: |\[(?:FATAL|PANIC)\]|\blevel=(?:fatal|panic)\b"
    r"|\"level\": ?\"(?:fatal|panic)\""
    r"|^F\d{4} \d\d:\d\d:|fork rejected by pids|failed to create new OS thread|pthread_create failed"
    r"|[Ss]egmentation fault|\bSIGSEGV\b|\bSIGABRT\b|[Kk]ernel panic|\bcore dumped\b"
    r"|Traceback \(most recent call last\)"
    r"|\bsoft lockup\b|\btable overflow\b|[Oo]ut of memory: Kill|\boom-kill(?:er|:)|Memory cgroup out of memory"
    r"|[Nn]o space left on device|[Tt]oo many open files|[Cc]annot allocate memory"
    r"|fork: (?:retry: )?Resource temporarily"
    r"|error while loading shared libraries|exec format error|symbol lookup error|version [`']GLIBC_"
)
_DEGRADED: Final = re.compile(
    r"FailedDiscoveryCheck|\bFalse \((?:MissingEndpoints|ServiceNotFound)|^\s*(?:Status|STATUS):? +Degraded\b"
    r"|^\s*(?:- )?[Mm]essage: +.*(?:\b[Uu]nable to|\b[Ff]ailed\b|\b[Ee]rror\b|\b[Ii]nvalid\b|\bunavailable\b)"
)
_ERROR: Final = re.compile(
    r"^libbpf: (?!.*Retrying without BTF).*(?:failed|[Ee]rror)|^(?:E\d{4} \d\d:\d\d:)|Unable to connect to the server"
    r"|The connection to the server \S+ was refused|Error from server \((?:Timeout|InternalError|ServiceUnavailable)\)"
    r"|^RTNETLINK answers: (?!File exists)|^(?:iptables|ip6tables|nft|ipset)(?:-\w+)*(?: v[\d.]+)?(?: \(\w+\))?: .*"
    r"(?:[Ff]ailed|[Ee]rror|[Cc]ould not|can't|holding)|Argument list too long|admin prohibited|\[UFW BLOCK\]"
)
_TRIAL: Final = re.compile(
    r"^curl: \(\d+\) |^wget: (?!server returned error: HTTP/1\.\d 4)|^ping: "
    r"|^(?:nc|ncat|Ncat|telnet): .*(?:refused|timed|"
    r"unreachable|route)|^;; connection timed out|^;; no servers could be reached|\*\* server can't find"
    r"|^nslookup: |^\S+: bad address '|Temporary failure in name resolution|[Cc]ould not resolve host"
    r"|[, ]100(?:\.0)?% packet loss|^From \S+ icmp_seq=\d+ (?:Destination|Packet filtered)|^upstream connect error"
    r"|^command terminated with exit code (?:1$|6$|7$|28$|56$|124$|143$)"
    r"|^(?:iperf3?|ssh): .*(?:refused|timed|unable|route)"
)
# Cheap test first: one of these is in every line that could match.
_ANY: Final = re.compile(
    r"essage: |panic|fatal|FATAL|PANIC|fork|thread|egmentation|SIG|core dumped|Traceback|lockup|overflow|memory|"
    r"space left|open files|"
    r"shared lib|exec format|symbol lookup|GLIBC|FailedDisc|False \(|Degraded|libbpf|^[EF]\d{4} |Unable to "
    r"connect|connection to the server|Error from server|RTNETLINK|tables|nft|ipset|too long|prohibited|UFW|^curl: |"
    r"^wget: |^ping: |^nc|^Ncat|^telnet|^;; |server can|^nslookup|bad address|resol|packet loss|^From |^upstream|"
    r"^command terminated|^iperf|^ssh: |oom-kill"
)
_KINDS: Final = (("fatal", _FATAL), ("degraded", _DEGRADED), ("error", _ERROR), ("trial", _TRIAL))
# What clusters that are well print, too.
HARMLESS: Final = re.compile(
    r"nodeagent~uds|FlexVolume: driver call failed|failed to retrieve runc version|has been deprecated"
    r"|modprobe, you can ignore this|was not recorded in IPAM|kubeadm's config map|secondary-bin-dir"
    r"|Retrying without BTF|Unable to open configuration file /etc/calico/confd/config/bird6?\.cfg"
    r"|too old resource version"
)
_MOST: Final = 400  # lines that are kept; who has more of them has trouble enough


class Grave(NamedTuple):
    kind: str  # fatal, degraded, error, trial
    text: str
    place: Place


def grave_lines(picture: Picture) -> list[Grave]:
    found: list[Grave] = []
    for exhibit in picture.exhibits:
        for grave in _of(exhibit, picture.left_out.get(exhibit.source, set())):
            found.append(grave)
            if len(found) >= _MOST:
                return found
    return found


def _of(exhibit: Exhibit, left_out: set[int]) -> Iterator[Grave]:
    for index, line in enumerate(exhibit.lines):
        if _ANY.search(line) and exhibit.number(index) not in left_out and not HARMLESS.search(line):
            text = line.strip()
            for kind, pattern in _KINDS:
                if pattern.search(text):
                    yield Grave(kind, text, exhibit.place(index))
                    break
