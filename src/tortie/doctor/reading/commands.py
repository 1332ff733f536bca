"""Command lines as people type them: their words, their programs, and where they really ran (ssh, exec, sudo)."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.model.tuples import NamedTuple


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Programs whose name at the start of a line makes it a command. `#` is a prompt only before one of these.
PROGRAMS: Final = word_set("""
    kubectl oc calicoctl kubeadm kubelet helm microk8s k3s k3d rke rke2 kind minikube kops eksctl istioctl
    cilium docker dockerd podman nerdctl crictl ctr containerd runc skopeo etcdctl etcd ip ifconfig route arp
    bridge ss netstat lsof nc ncat netcat telnet curl wget ping ping6 traceroute tracepath mtr nmap tcpdump tshark dig
    nslookup host getent ethtool nmcli nmtui networkctl resolvectl brctl ipcalc arping iperf iperf3 conntrack
    iptables iptables-save iptables-restore iptables-legacy iptables-legacy-save iptables-nft iptables-nft-save
    ip6tables ip6tables-save nft ipset ipvsadm firewall-cmd ufw ebtables update-alternatives alternatives bird
    birdc birdcl birdcl6 birdc6 bird6 calico-node calico-ipam calico felix sv systemctl service journalctl dmesg
    loginctl hostnamectl timedatectl chronyc ntpq ntpdate ntpstat date hwclock uptime top htop free vmstat
    iostat sar mpstat df du lsblk mount findmnt swapon swapoff ps pgrep pidof pstree nproc lscpu uname lsmod
    modprobe modinfo sysctl getenforce setenforce sestatus ausearch aureport chcon restorecon getfacl lsattr
    semanage setsebool aa-status ls cat head tail grep egrep fgrep zgrep awk sed cut sort uniq wc find stat file
    tree diff md5sum sha256sum readlink which whereis less more tee echo printf env export printenv set test
    touch mkdir rm cp mv ln chmod chown tar unzip vi vim nano cd pwd id whoami hostname exit reboot shutdown
    history for while if until xargs watch time timeout sudo su ssh scp rsync strace nsenter openssl jq yq
    python python3 perl bash sh apt apt-get yum dnf rpm dpkg apk snap zypper aws gcloud az openstack virsh
    ovs-vsctl ovs-ofctl bpftool tc bpftrace base64 kill pkill killall sleep crontab screen tmux true lspci
    lsinitrd grubby ulimit ipmitool smartctl wg setfacl fuser ansible pdsh clush pssh parallel-ssh pidstat
""")
# Without a prompt only these begin a command, and only with one of their own second words or an option.
_VERBS: Final = {
    "kubectl": "get describe logs log exec apply delete edit patch rollout version cluster-info top "
    "auth api-versions api-resources config create run cp label annotate taint drain cordon uncordon scale explain "
    "debug wait events "
    "port-forward set replace calico",
    "calicoctl": "node get ipam version create apply delete patch replace convert datastore label",
    "docker": "ps logs info inspect network exec images version stats run pull container system",
    "crictl": "ps pods logs info inspect inspectp images version exec stats",
    "ctr": "c t i containers tasks images version",
    "systemctl": "status show cat is-active is-enabled list-units restart start stop",
    "ip": "a addr address add r route ro l link ru rule n neigh netns xfrm monitor tunnel",
    "etcdctl": "endpoint member get cluster-health ls",
    "firewall-cmd": "",
    "journalctl": "",
    "iptables": "",
    "iptables-save": "",
    "ip6tables": "",
    "nft": "list",
    "ipset": "list save",
    "ipvsadm": "",
    "ss": "",
    "netstat": "",
    "tcpdump": "",
    "tshark": "",
    "ethtool": "",
    "openssl": "x509 s_client version",
    "birdcl": "show",
    "birdc": "show",
    "kubeadm": "init join reset certs version token config upgrade",
    "helm": "install upgrade ls list repo get status",
    "sysctl": "",
    "ufw": "status",
    "nmcli": "dev device con connection general",
    "timedatectl": "status",
    "chronyc": "tracking sources",
    "ifconfig": "",
    "lsmod": "",
    "modprobe": "",
    "crontab": "",
}
OWN_LINE: Final = word_set("iptables-save lsmod timedatectl ifconfig ipvsadm journalctl netstat dmesg uptime")
_NAMED_THINGS: Final = word_set("tcpdump ethtool modprobe ifconfig")
_PATHED: Final = word_set("cat ls tail head grep stat find ping curl nc telnet dig nslookup wget traceroute")
_CARRIERS: Final = word_set("sudo time watch nohup exec command env stdbuf nice ionice unbuffer")
_WRAPPED: Final = word_set("microk8s k3s rke2 minikube k0s")
_BEFORE: Final = _PATHED | _CARRIERS | _WRAPPED | {"timeout"}

_WORD = lazily(r"""(?:[^\s"'\\|&;<>]|\\.|"(?:[^"\\]|\\.)*"|'[^']*'|(?<=\d)[<>]&?|[<>]&|["'\\])+|\|\|?|&&?|;|[<>]+""")
# `for e in 1 2; do etcdctl … ; done`: what it repeats tells whether it is a command.
_LOOP = lazily(r"(?:for [A-Za-z_]\w* in [^;]{1,400}|while [^;]{1,200}); ?do (?P<body>\S.*); ?done\b")
_LONGEST_LOOP: Final = 2000
_FIRST = lazily(r"[^\s|&;<>]*")
_ASSIGNMENT = lazily(r"[A-Za-z_]\w*=\S*$")
_PROGRAM = lazily(r"(?:\.{0,2}/)?(?:[\w.+~-]+/)*([a-z][\w.+-]*)$")
_SPOKEN = word_set(
    "the is are was were be been and but which that this these will would should could can cannot can't won't "
    "doesn't "
    "don't isn't not from of with works work fails failed fine shows showed says when after before because also "
    "it its "
    "we i you my our their there here then than so ok still only have has had does did on a an to"
)
_QUOTED = lazily(r"\"[^\"]*\"|'[^']*'|`[^`]*`")
_FAR_EAST = lazily(r"[\u3040-\u30ff\u3400-\u9fff\uff0c\uff1f\uff01]")
_RUN = lazily(r"\b(?:kubectl|oc)\s(?:-\S+ \S+ ){0,3}run\s+(?:-\S+\s+){0,4}([a-z0-9][\w.-]*)\s")
_FILLED_IN = lazily(r"[\[<{=/:]")  # https://[ETCD服务IP]:2379 stands for something


class Effective(NamedTuple):
    """Where and what: `ssh h "sudo x"` is x on h, `kubectl exec p -- y` is y in p."""

    host: str
    pod: str
    command: str


def words(command: str, most: int | None = None) -> list[str]:
    """The words and operators of a command line; quotes around whole words are taken off, unclosed ones survive."""
    return [_unquoted(match.group()) for match in islice(_WORD.finditer(command), most)]


def _unquoted(word: str) -> str:
    if len(word) >= 2 and word[0] == word[-1] and word[0] in "\"'":
        return word[1:-1]
    return word


def program_of(word: str) -> str:
    """`./calicoctl` and `/usr/bin/calicoctl` are calicoctl; empty for what cannot be a program."""
    match = _PROGRAM.match(word)
    return match[1] if match else ""


def programs(command: str) -> list[str]:
    """The programs of a pipeline or list in their order, the effective ones."""
    found: list[str] = []
    segment: list[str] = []
    for word in [*words(effective(command).command), ";"]:
        if word in ("|", "||", "&&", ";", "&"):
            name = _leading(segment)
            if name:
                found.append(name)
            segment = []
        else:
            segment.append(word)
    return found


def _leading(segment: list[str]) -> str:
    rest = _stripped(segment)
    while rest and rest[0] in ("do", "then", "else", "{", "(", "!"):
        rest = _stripped(rest[1:])
    if len(rest) > 1 and program_of(rest[0]) in _WRAPPED and program_of(rest[1]) in ("kubectl", "ctr", "crictl"):
        return program_of(rest[1])
    return program_of(rest[0].lstrip("({")) if rest else ""


def _stripped(segment: list[str]) -> list[str]:
    """Without assignments, sudo and its options, timeout and its duration."""
    at = 0
    while at < len(segment):
        name = program_of(segment[at])
        if _ASSIGNMENT.match(segment[at]):
            at += 1
        elif name in _CARRIERS:
            at += 1
            while at < len(segment) and segment[at].startswith("-"):
                at += 2 if segment[at] in ("-u", "-n", "-g", "-o") and name in ("sudo", "nice", "watch") else 1
        elif name == "timeout" and at + 1 < len(segment):
            at += 1
            while at < len(segment) and (segment[at].startswith("-") or segment[at][:1].isdigit()):
                at += 1
        else:
            break
    return segment[at:]


def effective(command: str) -> Effective:
    """The host and pod that a command line reached, and what ran there."""
    host = pod = ""
    text = command.strip()
    for _ in range(4):
        inner = _once(text)
        if inner is None:
            break
        host, pod, text = inner.host or host, inner.pod or pod, inner.command
    return Effective(host, pod, text)


def pod_asked(command: str) -> str:
    """The pod in which a command ran: `kubectl exec p -- y`, `kubectl run p --rm -it --image=busybox -- y`."""
    if " exec " in command:
        return effective(command).pod
    match = _RUN.search(command) if " run " in command else None
    return match[1] if match else ""


def _once(text: str) -> Effective | None:
    spans = [(match.group(), match.start()) for match in _WORD.finditer(text)]
    rest = _stripped([word for word, _ in spans])
    at = len(spans) - len(rest)
    if not rest:
        return None
    name = program_of(rest[0])
    if name == "ssh":
        return _ssh(text, spans, at + 1)
    if name in ("kubectl", "oc", "docker", "crictl", "podman", "nerdctl") and "exec" in rest:
        return _exec(text, spans, at)
    if name in ("bash", "sh") and len(rest) > 2 and rest[1] in ("-c", "-lc", "-xc"):
        return Effective("", "", _unquoted(rest[2]))
    if at and at < len(spans):
        return Effective("", "", text[spans[at][1] :])
    return None


def _ssh(text: str, spans: list[tuple[str, int]], at: int) -> Effective | None:
    while at < len(spans) and spans[at][0].startswith("-"):
        at += 2 if spans[at][0] in ("-i", "-p", "-o", "-l", "-F", "-J") else 1
    if at + 1 >= len(spans) or spans[at + 1][0] in ("|", "||", "&&", ";", "<", ">", "2>", "&"):
        return None
    host = _unquoted(spans[at][0]).rpartition("@")[2]
    inner = _unquoted(spans[at + 1][0]) if len(spans) == at + 2 else text[spans[at + 1][1] :]
    if len(spans) > at + 2 and spans[at + 1][0][:1] in "\"'":
        inner = _unquoted(spans[at + 1][0]) + text[spans[at + 1][1] + len(spans[at + 1][0]) :]
    return Effective(host, "", inner)


def _exec(text: str, spans: list[tuple[str, int]], at: int) -> Effective | None:
    kube = program_of(spans[at][0]) in ("kubectl", "oc")
    plain = [word for word, _ in spans]
    index = plain.index("exec", at) + 1
    pod, valued = "", ("-n", "--namespace", "-c", "--container", "-u", "-e", "-w", "--kubeconfig", "--context")
    while index < len(plain):
        word = plain[index]
        if word == "--":
            return Effective("", pod, text[spans[index + 1][1] :]) if pod and index + 1 < len(plain) else None
        if word in ("|", "||", "&&", ";"):
            return None
        if word.startswith("-"):
            index += 2 if word in valued else 1
        elif not pod:
            pod = word.partition("/")[2] or word
            index += 1
        elif kube and "--" in plain[index:]:
            index += 1
        else:
            return Effective("", pod, text[spans[index][1] :])
    return None


def plausible(command: str) -> bool:
    """Does this text after a prompt begin with a known program, and does nobody speak in it?"""
    segment = _stripped(words(command)[:12])
    if not segment:
        return bool(command) and _ASSIGNMENT.match(command.split()[0]) is not None
    first = segment[0].lstrip("({")
    name = program_of(first)
    known = name in PROGRAMS or (first.startswith(("./", "/")) and bool(name)) or name.endswith((".sh", ".py"))
    return known and not spoken(command)


def typed_bare(command: str) -> bool:
    """Is this a command line without any prompt, as pages show them? Stricter: the second word must fit, too."""
    first = command.partition(" ")[0]
    if first in ("for", "while"):
        loop = _LOOP.match(command[:_LONGEST_LOOP])
        return loop is not None and not _LOOP.match(loop["body"]) and typed_bare(loop["body"])
    if first.endswith(":") or not _may_begin(_FIRST.match(command)[0]):  # type: ignore[index]
        return False
    segment = _stripped(words(command, 8))
    if not segment:
        return False
    name = program_of(segment[0])
    if name in _WRAPPED and len(segment) > 1:
        segment = segment[1:]
        name = program_of(segment[0])
    second = segment[1] if len(segment) > 1 else ""
    if name in _PATHED:
        return (second.startswith(("/", "-", "~/", "http")) or second[:1].isdigit()) and not spoken(command, 1)
    if name not in _VERBS:
        return False
    if not second:
        return name in OWN_LINE
    verbs = _VERBS[name].split()
    if second.startswith("-") or second in verbs:
        fits = True
    elif name == "sysctl":
        fits = second.startswith(("net.", "vm.", "kernel.", "fs."))
    else:
        fits = not verbs and (second in ("|", ">") or name in _NAMED_THINGS)
    return fits and not spoken(command)


def told_with_result(line: str) -> bool:
    """`kubectl get nodes: 5 of 5 Ready`, `kubectl get pods -> none`: a person tells what the command printed."""
    if " -> " in line or " => " in line or " → " in line:
        return True
    return any(word.endswith((":", "：")) and "=" not in word and "/" not in word for word in line.split()[1:7])


def _may_begin(first: str) -> bool:
    """Whether a command line may begin with this word: almost no line of output does, and words are costly."""
    if "=" in first or "\\" in first or "'" in first or '"' in first:
        return True
    name = program_of(first)
    return name in _VERBS or name in _BEFORE


def spoken(command: str, least: int = 2) -> bool:
    """Does a person speak after the program's name, as in `# ping from here to the master works`?"""
    tokens = _QUOTED.sub(" ", command).split()
    if any(_FAR_EAST.search(token) and not _FILLED_IN.search(token) for token in tokens):
        return True
    said = (token for before, token in pairwise(tokens) if not before.startswith("-"))  # -e from is an option's value
    return sum(token.lower().rstrip(".,:;!?") in _SPOKEN for token in said) >= least


def unfinished(command: str) -> bool:
    """Does the command line go on in the next line: an open quote, a backslash, a pipe at its end, an open loop?"""
    if command.endswith("\\"):
        return True
    quote, skip = "", False
    for char in command:
        if skip:
            skip = False
        elif char == "\\" and quote != "'":
            skip = True
        elif quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
    return bool(quote) or command.endswith(("|", "&&"))
