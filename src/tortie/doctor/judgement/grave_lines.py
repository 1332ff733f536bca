"""Lines that say by themselves that something is wrong, in whatever output they stand: crashes, failed trials.

Readers turn forms into facts; this is the net below them for what has no form. It only ever keeps the doctor from
calling a cluster healthy, and gives it something to quote: nothing here names a cause.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.model.tuples import NamedTuple

_FATAL: Final = lazily(
    r"(?:^|[\s:|])panic: |^\s*fatal error: |\[(?:FATAL|PANIC)\]|\blevel=(?:fatal|panic)\b"
    r"|\"level\": ?\"(?:fatal|panic)\""
    r"|^F\d{4} \d\d:\d\d:|^FATAL: |fork rejected by pids|failed to create new OS thread|pthread_create failed"
    r"|[Ss]egmentation fault|\bSIGSEGV\b|\bSIGABRT\b|[Kk]ernel panic|\bcore dumped\b"
    r"|Traceback \(most recent call last\)"
    r"|\bsoft lockup\b|\btable overflow\b|[Oo]ut of memory: Kill|\boom-kill(?:er|:)|Memory cgroup out of memory"
    r"|[Nn]o space left on device|[Tt]oo many open files|[Cc]annot allocate memory"
    r"|fork: (?:retry: )?Resource temporarily"
    r"|error while loading shared libraries|exec format error|symbol lookup error|version [`']GLIBC_"
)
_DEGRADED: Final = lazily(
    r"FailedDiscoveryCheck|\bFalse \((?:MissingEndpoints|ServiceNotFound)|^\s*(?:Status|STATUS):? +Degraded\b"
    r"|^\s*(?:- )?[Mm]essage: +.*(?:\b[Uu]nable to|\b[Ff]ailed\b|\b[Ee]rror\b|\b[Ii]nvalid\b|\bunavailable\b)"
)
_ERROR: Final = lazily(
    r"^[Nn]etworkPlugin cni failed |"
    r"^libbpf: (?!.*Retrying without BTF).*(?:failed|[Ee]rror)|^(?:E\d{4} \d\d:\d\d:)|^\[ERROR\] |^ERROR: "
    r"|\blevel=error\b|^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[(?:error|crit|alert|emerg)\] "
    r"|^Failed to (?:apply|create|replace|patch|delete|execute|get) |Unable to connect to the server"
    r"|The connection to the server \S+ was refused|Error from server(?: \((?:Timeout|InternalError|"
    r"ServiceUnavailable)\)|: etcdserver)"
    r"|\bNetlink: (?:Network is unreachable|No such device|Operation not permitted|Invalid argument|No buffer space)"
    r"|^RTNETLINK answers: (?!File exists)|^(?:iptables|ip6tables|nft|ipset)(?:-\w+)*(?: v[\d.]+)?(?: \(\w+\))?: .*"
    r"(?:[Ff]ailed|[Ee]rror|[Cc]ould not|can't|holding)|Argument list too long|admin prohibited|\[UFW BLOCK\]"
)
_TRIAL: Final = lazily(
    r"^curl: \(\d+\) |^wget: (?!server returned error: HTTP/1\.\d 4)|^ping: "
    r"|^(?:nc|ncat|Ncat|telnet): .*(?:refused|timed|"
    r"unreachable|route)|^;; connection timed out|^;; no servers could be reached|\*\* server can't find"
    r"|^nslookup: |^\S+: bad address '|Temporary failure in name resolution|[Cc]ould not resolve host"
    r"|[, ](?!0(?:\.0+)?%)\d+(?:\.\d+)?% packet loss"
    r"|^From \S+ icmp_seq=\d+ (?:Destination|Packet filtered)|^upstream connect error"
    r"|^command terminated with exit code (?:1$|6$|7$|28$|56$|124$|143$)"
    r"|\b[1-9]\d* (?:failed|timed out|timeouts|lost)\b(?! (?:jobs?|power|contact|its|the|network|connectivity)\b)"
    r"|\b(?:ok|OK)\b.{0,400}\bTIMEOUT\b|\bTIMEOUT\b.{0,400}\b(?:ok|OK)\b"
    r"|\bCode +(?:-1|[45]\d\d) *: *[1-9]\d* *\("
    r"|^(?:iperf3?|ssh): .*(?:refused|timed|unable|route)"
)
# Each line that could match has one of these; they are looked for first, in the whole text at once.
_NEEDLES: Final = (
    "panic: ", "fatal error: ", "[FATAL]", "[PANIC]", "\nFATAL: ", "=fatal", "=panic", '"fatal"', '"panic"', "\nF",
    "\nE",
    "fork rejected", "OS thread", "pthread_create", "egmentation fault", "SIGSEGV", "SIGABRT", "ernel panic",
    "core dumped", "Traceback", "soft lockup", "table overflow", "emory: Kill", "oom-kill", "out of memory",
    " [error] ", " [crit] ", " [alert] ", " [emerg] ",
    "pace left on", "open files", "allocate memory", "Resource temporarily", "shared libraries", "exec format",
    "symbol lookup", "GLIBC_", "FailedDiscovery", "False (", "Degraded", "essage: ", "libbpf: ",
    "\n[ERROR", "etworkPlugin cni failed", "\nERROR: ", "level=error", "\nFailed to ", "TIMEOUT",
    "Unable to connect", "connection to the server", "Error from server", "RTNETLINK", "Netlink: ", "\niptables",
    "\nip6tables",
    "\nnft", "\nipset", "list too long", "admin prohibited", "[UFW BLOCK]", "\ncurl: ", "\nwget: ", "\nping: ",
    "\nnc: ", "\nncat: ", "\nNcat: ", "\ntelnet: ", "\n;; ", "server can't find", "\nnslookup: ", "bad address '",
    "failure in name", "ould not resolve", "% packet loss", "\nFrom ", "\nupstream", "\ncommand term", "\niperf",
    "\nssh: ", "Code -1", "Code 4", "Code 5", " failed", " timed out", " timeouts", " lost",
)  # fmt: skip
_OFTEN: Final = 2000  # lines of one exhibit with the same needle that are looked at
_KINDS: Final = (("fatal", _FATAL), ("degraded", _DEGRADED), ("error", _ERROR), ("trial", _TRIAL))
# What clusters that are well print, too.
HARMLESS: Final = lazily(
    r"nodeagent~uds|FlexVolume: driver call failed|Failed to unmarshal output for command: init\b"
    r"|Failed to report usage|[Ff]ailed to delete neighbor FDB entry .{0,200}IP:(?:22[4-9]|23\d)\.|"
    r"conflicted, retrying|failed to retrieve runc version|has been deprecated"
    r"|modprobe, you can ignore this|was not recorded in IPAM|kubeadm's config map|secondary-bin-dir"
    r"|Retrying without BTF|Unable to open configuration file /etc/calico/confd/config/bird6?\.cfg"
    r"|Nameserver limits (?:were )?exceeded|too old resource version|Timeout or abort while handling.{0,200}watch=true"
    r"|Unhandled Error\" err=\"client disconnected\""  # whoever watched has gone
)
_MOST: Final = 400  # lines that are kept; who has more of them has trouble enough


# A machine that has run out of something: what programs on it say of others may follow from that.
_EXHAUSTED: Final = (
    "table overflow",
    "fork rejected by pids",
    "failed to create new OS thread",
    "pthread_create failed",
)


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


def exhausted(picture: Picture) -> list[Place]:
    """Where a machine says that it has run out of processes, threads or entries of a table."""
    found = []
    for exhibit in picture.exhibits:
        if not exhibit.prose and any(words in line for words in _EXHAUSTED for line in exhibit.lines):
            told = (index for index, line in enumerate(exhibit.lines) if any(words in line for words in _EXHAUSTED))
            found += [exhibit.place(index) for index in told]
    return found


def _of(exhibit: Exhibit, left_out: set[int]) -> Iterator[Grave]:
    for index in _suspicious(exhibit.lines):
        line = exhibit.lines[index]
        if exhibit.number(index) in left_out or HARMLESS.search(line):
            continue
        text = line.strip()
        kind = next((kind for kind, pattern in _KINDS if pattern.search(text)), "")
        if kind and not (exhibit.prose and _only_a_level(text)):
            yield Grave(kind, text, exhibit.place(index))


def _only_a_level(text: str) -> bool:
    """A person speaks of lines with this level, and quotes none."""
    return "level=error" in text and not text.startswith(("time=", "level=", "ts="))


def _suspicious(lines: tuple[str, ...]) -> list[int]:
    """The numbers of lines with a needle; indentation does not hide the beginning of a line."""
    text = "\n" + "\n".join(line.strip() for line in lines)
    places: list[int] = []
    for needle in _NEEDLES:
        at = text.find(needle)
        count = 0
        while at >= 0 and count < _OFTEN:
            places.append(at + 1 if needle[0] == "\n" else at)
            at = text.find(needle, at + 1)
            count += 1
    if not places:
        return []
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.strip()) + 1)
    return sorted({bisect_right(starts, place - 1) - 1 for place in places})
