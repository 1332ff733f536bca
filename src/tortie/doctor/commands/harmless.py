"""What is known to be harmless, by program: verbs, options and files. Data for risk.py; what is missing is not safe."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tortie.doctor.lazily import lazily

# Programs that only look, whatever their words; what some of them can be told to change stands in CHANGES.
READERS: Final = frozenset((
    ":", "[", "[[", "apt-cache", "arp", "arping", "ausearch", "awk", "base64", "birdc", "birdcl", "cat", "cd",
    "column", "cut", "date", "df", "diff", "dig", "dmesg", "du", "echo", "exit", "false", "file", "find",
    "findmnt", "free", "fuser", "getenforce", "getent", "getsebool", "grep", "head", "host", "hostname", "id", "iostat",
    "iotop", "journalctl", "jq", "last", "less", "ls", "lsattr", "lsblk", "lscpu", "lsmod", "lsns", "lsof",
    "md5sum", "mkdir", "modinfo", "mountpoint", "mpstat", "mtr", "nc", "netstat", "nproc", "nslookup", "nstat", "od",
    "openssl", "pgrep", "pidof", "ping", "ping6", "pmap", "printf", "ps", "pstree", "pwd", "read", "readlink", "rg",
    "sar", "sed", "seq", "set", "sha256sum", "sleep", "sort", "ss", "stat", "strace", "strings", "tail", "tcpdump",
    "telnet", "test", "top", "tr", "tracepath", "traceroute", "tree", "true", "uname", "uniq", "uptime", "vmstat", "w",
    "wc", "wget", "which", "who", "xxd", "zcat", "zgrep", "env",
    "iptables-save", "ip6tables-save", "iptables-legacy-save", "iptables-nft-save", "ip6tables-legacy-save",
    "ip6tables-nft-save",
))  # fmt: skip
# Options and operands by which a reader changes something.
CHANGES: Final[Mapping[str, str]] = {
    "arp": r"-[ds]|--delete|--set",
    "arping": r"-[a-zA-Z]*[AUS]",
    "awk": r".*(?:system\(|print[^;}]{0,200}[>|]).*",
    "date": r"-s.*|--set.*",
    "dmesg": r"-[a-zA-Z]*[CcDEn]|--(?:clear|read-clear|console).*",
    "find": r"-(?:delete|exec|execdir|ok|okdir|fprint.*|fls)",
    "fuser": r"-[a-z]*k.*|--kill",
    "hostname": r"-[Fb].*|[^-].*",
    "journalctl": r"--(?:vacuum|rotate|flush|sync|relinquish|setup-keys).*",
    "openssl": r"-out|-keyout|genrsa|req|ca|-CAcreateserial",
    "sed": r"-[a-zA-Z]*i.*|--in-place.*",
    "sort": r"-[a-zA-Z]*o.*|--output.*",
    "ss": r"-[a-zA-Z]*K[a-zA-Z]*|--kill",
    "strace": r"-[a-zA-Z]*o.*",
    "tcpdump": r"-[a-zA-Z]*z.*",
    "wget": r"--(?:post|method|body).*",
}
# For programs with verbs: what begins with these operands only reads, or adds what one word takes away again.
VERBS: Final[Mapping[str, str]] = {
    "aws": "ec2 describe- | ec2 authorize-security-group-ingress",
    "az": "network nsg rule list | network nsg rule show | vm list | vm show | network nsg rule create",
    "bpftool": "map show | map list | map dump | prog show | prog list | net show | net list | version | cgroup tree "
    "| feature probe",
    "bridge": "link show | fdb show | vlan show | link ! | fdb ! | vlan !",
    "chronyc": "sources | tracking | sourcestats | activity | ntpdata",
    "crane": "digest | manifest | ls | config | validate | version | pull",
    "crictl": "ps | pods | images | image ! | inspect | inspecti | inspectp | logs | info | version | stats | statsp "
    "| pull | imagefsinfo",
    "ctr": "images list | images ls | image list | image ls | i ls | images import | image import | i import "
    "| images pull | image pull | images check | image check | containers list | containers ls | c ls | tasks list "
    "| tasks ls | t ls | version | namespaces ls",
    "docker": "ps | info | version | inspect | logs | images | pull | load | stats | top | network ls "
    "| network inspect | volume ls | image ls | image inspect | system df | events",
    "gcloud": "compute instances list | compute instances describe | compute firewall-rules list "
    "| compute firewall-rules describe | compute firewall-rules create",
    "helm": "get | list | ls | status | history | version | show | template | search",
    "ipset": "list | save | version | test",
    "k3s": "check-config | version | etcd-snapshot list | etcd-snapshot ls | etcd-snapshot save",
    "kops": "get | validate | version",
    "kubeadm": "certs check-expiration | alpha certs check-expiration | version | config print | config images list "
    "| token list | token create | upgrade plan",
    "microk8s": "status | inspect | version | config",
    "networkctl": "list | status | lldp | !",
    "nerdctl": "ps | info | version | inspect | logs | images | pull | load",
    "nft": "list",
    "openstack": "server list | server show | port list | port show | network list | network show | subnet list "
    "| subnet show | security group list | security group show | security group rule list "
    "| security group rule show | security group rule create | port set --allowed-address",
    "resolvectl": "status | query | statistics | !",
    "skopeo": "inspect | list-tags",
    "sv": "status",
    "systemd-analyze": "blame | critical-chain | time | !",
    "talosctl": "get | logs | dmesg | health | version | services | service | containers | list | read | time",
    "timedatectl": "status | show | show-timesync | timesync-status | !",
    "tortie": "collect | doctor | explain | status | show | node status | node explain | node timeline",
    "ufw": "status | show | allow | route allow | version",
    "wg": "show | !",
}
KUBECTL_READS: Final = frozenset((
    "get", "describe", "logs", "top", "explain", "version", "api-resources", "api-versions", "cluster-info",
    "events", "diff", "wait", "options", "uncordon", "port-forward",
))  # fmt: skip
KUBECTL_PAIRS: Final = frozenset((
    "rollout status", "rollout history", "auth can-i", "auth whoami", "config view", "config get-contexts",
    "config current-context", "create cm", "create configmap", "create secret", "create token", "certificate list",
))  # fmt: skip
CALICOCTL_READS: Final = frozenset((
    "get", "version", "help", "convert", "node status", "node checksystem", "node diags", "ipam show", "ipam check",
    "cluster diags",
))  # fmt: skip
SYSTEMCTL_READS: Final = frozenset((
    "status", "is-active", "is-enabled", "is-failed", "cat", "show", "list-units", "list-timers", "list-sockets",
    "list-unit-files", "list-dependencies", "get-default", "daemon-reload", "unmask", "reset-failed",
))  # fmt: skip
# Starting what is dead interrupts nothing, unless it filters packets or manages links.
CUTS: Final = lazily(r"firewalld|ufw|nftables|ip6?tables|network.*|systemd-networkd|NetworkManager", re.IGNORECASE)
ETCDCTL_READS: Final = frozenset((
    "get", "version", "cluster-health", "member list", "endpoint status", "endpoint health", "endpoint hashkv",
    "alarm list", "snapshot save", "snapshot status",
))  # fmt: skip
FIREWALL_READS: Final = lazily(
    r"--(?:list-.*|get-.*|query-.*|state|info-.*|version|permanent|zone=.*|timeout=.*|add-port=.*|add-service=.*"
    r"|add-protocol=.*|add-rich-rule=.*\baccept)"
)
PROBES: Final = lazily(r"-{1,2}(?:felix|bird6?)-(?:live|ready)|-v|--version|-show-status")
# Files of one's own that the next start reads: nothing is lost, nothing changes at once.
DROP_IN: Final = lazily(r"/etc/(?:sysctl|modules-load|modprobe)\.d/|/etc/NetworkManager/conf\.d/|~/|\$HOME/|/tmp/")
SYSCTL_RAISES: Final = lazily(
    r"net\.(?:ipv[46]\.(?:ip_forward|conf\.[\w.-]+\.forwarding)|bridge\.bridge-nf-call-ip6?tables)=1"
    r"|net\.netfilter\.nf_conntrack_max=\d+|net\.ipv[46]\.neigh\.default\.gc_thresh[123]=\d+"
    r"|kernel\.(?:pid_max|threads-max)=\d+|fs\.(?:inotify\.[\w.]+|file-max)=\d+"
)
