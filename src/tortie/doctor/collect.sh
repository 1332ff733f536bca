#!/usr/bin/env bash
# Collects what a diagnosis of Calico needs. Read-only: nothing is changed, installed or sent. Needs bash; uses kubectl,
# calicoctl, ip, ss ... where they are. Every command is printed like one typed at a prompt, with its answer below; each
# may take ten seconds. Tokens, keys and passwords are masked. The result goes to standard output, or as files into a folder:
#
#     bash collect.sh > bundle.txt && tortie doctor bundle.txt
#     bash collect.sh bundle/      && tortie doctor bundle/
set -u
folder=${1:-}
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin:/usr/local/bin:/opt/cni/bin"
host=${TORTIE_NODE:-$(hostname 2>/dev/null || echo localhost)}

masked() {
  sed -E \
    -e 's/(([Tt][Oo][Kk][Ee][Nn]|[Pp]assword|PASSWORD|[Ss]ecret|SECRET|[A-Za-z_]*_KEY|client-key-data|client-certificate-data|certificate-authority-data)["'"'"']?[[:space:]]*[:=][[:space:]]*["'"'"']?)[^[:space:]"'"'"',}]+/\1(masked)/g' \
    -e 's/eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+/(masked)/g' \
    -e '/-----BEGIN/,/-----END/s/.*/(masked)/'
}

# Where the next answers belong: nodes/<node>/ip-addr, cluster/pods ...
section() { part=$1; }

# One command: at most ten seconds and LIMIT bytes of answer.
run() {
  if [ -n "$folder" ]; then
    mkdir -p "$folder/$(dirname "$part")" && answered "$1" >>"$folder/$part.txt"
  else
    answered "$1"
  fi
}

answered() {
  printf '[%s@%s ~]# %s\n' "$(id -un)" "$host" "$1"
  timeout -k 2 10 bash -c "$1" </dev/null 2>&1 | head -c "${LIMIT:-200000}" | masked
  [ "${PIPESTATUS[0]}" -eq 124 ] && printf '^C (no answer within 10 s)\n'
  printf '\n'
}

have() { command -v "$1" >/dev/null 2>&1; }

# The machine it runs on
section "nodes/$host/load"
run 'date -u'
run 'uname -r'
run 'uptime'
run 'nproc'
run 'free -m'
run 'cat /proc/swaps'
run 'df -h'
run 'ps aux --sort=-%cpu | head -15'
section "nodes/$host/ip-addr"
run 'ip addr'
run 'ip -d link show type vxlan'
section "nodes/$host/ip-route"
run 'ip route'
run 'ip rule'
run 'ip neigh | head -100'
section "nodes/$host/ports"
have ss && run 'ss -lntp'
section "nodes/$host/sysctl"
run 'sysctl net.ipv4.ip_forward net.ipv4.conf.all.rp_filter net.ipv4.conf.all.forwarding net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max'
run 'cat /etc/hosts'
run 'cat /etc/resolv.conf'
have timedatectl && run 'timedatectl'
have getenforce && run 'getenforce'
section "nodes/$host/nft"
have iptables && run 'iptables -V'
have iptables-save && run 'iptables-save | grep -c cali-' && run 'iptables-save -t nat | grep -c KUBE-SVC' && run 'iptables -S | grep -e DROP -e REJECT | grep -v -e cali -e KUBE | head -30'
have nft && run 'nft list ruleset | grep -n -e "hook input" -e "hook forward" -e reject -e drop | head -60'
have firewall-cmd && run 'firewall-cmd --state' && run 'firewall-cmd --list-all'
have nmcli && run 'nmcli dev | grep -e cali -e tunl -e vxlan | head'
have modprobe && run 'lsmod | grep -e ip_set -e xt_set -e ipip -e vxlan -e ip_vs -e nf_conntrack'
section "nodes/$host/cni-files"
run 'ls -la --time-style=full-iso /etc/cni/net.d'
run 'ls -la /opt/cni/bin'
run 'ls -la /var/lib/cni/networks/k8s-pod-network | head'
run 'cat /var/lib/calico/nodename'
run 'cat /etc/cni/net.d/10-calico.conflist'
section "nodes/$host/units"
for unit in kubelet containerd docker firewalld NetworkManager; do
  systemctl cat "$unit" >/dev/null 2>&1 && run "systemctl status $unit --no-pager -n 0 -l"
done
section "nodes/$host/journal"
have journalctl && for unit in kubelet containerd docker; do
  systemctl cat "$unit" >/dev/null 2>&1 && LIMIT=60000 run "journalctl -u $unit -n 150 --no-pager"
done
have dmesg && run 'dmesg -T | grep -i -e oom -e "out of memory" -e md5 -e conntrack -e "neighbor table overflow" -e unregister_netdevice | tail -30'
section "nodes/$host/runtime"
runtime_socket=$(ls /run/containerd/containerd.sock /run/crio/crio.sock /run/k3s/containerd/containerd.sock /var/run/cri-dockerd.sock 2>/dev/null | head -1)
have crictl && [ -n "$runtime_socket" ] && run 'crictl ps -a | head -40' && run 'crictl info | grep -i -e lastCNILoadStatus -e confDir -e binDir -e SystemdCgroup'
have docker && [ -S /var/run/docker.sock ] && run 'docker ps -a --format "table {{.Names}}\t{{.Status}}" | head -40'
run 'grep -n -e SystemdCgroup -e bin_dir -e conf_dir /etc/containerd/config.toml'
run 'grep -n -e cgroupDriver -e failSwapOn /var/lib/kubelet/config.yaml'
section "nodes/$host/node-status"
have curl && run 'curl -s -m 3 -o /dev/null -w "%{http_code}\n" http://127.0.0.1:9099/liveness'
have calicoctl && run 'calicoctl node status'
if have tortie; then
  run 'tortie node status'
  run 'tortie get nodes -o wide'
  run 'tortie node explain'
  run 'tortie node timeline'
  [ -r "${TORTIE_ROOT:-/nowhere}/log" ] && run "tail -n 200 $TORTIE_ROOT/log"
fi
# Peers that are not up: do they answer at all, and at BGP's port?
{ have calicoctl && timeout 10 calicoctl node status || have tortie && timeout 10 tortie node status; } 2>/dev/null </dev/null |
  awk -F'|' '$4 ~ /start|down/ { gsub(/ /, "", $2); if ($2 ~ /^[0-9.]+$/ && n++ < 8) print $2 }' |
  while read -r peer; do
    have ping && run "ping -c 2 -W 1 $peer"
    run "timeout 3 bash -c '</dev/tcp/$peer/179' && echo 179 open || echo 179 closed"
  done

# The cluster, where kubectl reaches it
if have kubectl && timeout 10 kubectl version >/dev/null 2>&1; then
  section cluster/nodes
  run 'kubectl version'
  run 'kubectl get nodes -o wide'
  run "kubectl get nodes -o custom-columns='NAME:.metadata.name,INTERNAL:.status.addresses[0].address,CALICO:.metadata.annotations.projectcalico\.org/IPv4Address'"
  section cluster/pods
  LIMIT=600000 run 'kubectl get pods -A -o wide'
  run 'kubectl get ds -A'
  run 'kubectl get endpoints kubernetes'
  section cluster/events
  for namespace in kube-system calico-system tigera-operator; do
    kubectl get namespace "$namespace" >/dev/null 2>&1 || continue
    LIMIT=100000 run "kubectl -n $namespace get events --sort-by=.lastTimestamp | tail -100"
  done
  section cluster/configmaps
  for map in calico-config kubeadm-config kube-proxy kubernetes-services-endpoint; do
    kubectl -n kube-system get configmap "$map" >/dev/null 2>&1 && run "kubectl -n kube-system get configmap $map -o yaml"
  done
  section cluster/calico
  for kind in ippools bgpconfigurations bgppeers felixconfigurations hostendpoints; do
    run "kubectl get $kind.crd.projectcalico.org -o yaml"
  done
  kubectl get tigerastatus >/dev/null 2>&1 && run 'kubectl get tigerastatus -o yaml'
  # All agents are listed above; those that are not well are looked at closely, and one that is, to compare with.
  kubectl get pods -A --no-headers 2>/dev/null |
    awk '$2 ~ /^(calico-|canal|kube-calico)/ { split($3, n, "/"); sick = (n[1] != n[2] || $4 != "Running");
         if (sick && seen++ < 12) print $1, $2; else if (!sick && !well++) print $1, $2 }' |
    while read -r namespace pod; do
      section "cluster/describe/$pod"
      LIMIT=60000 run "kubectl -n $namespace describe pod $pod"
      section "cluster/logs/$pod"
      for container in $(kubectl -n "$namespace" get pod "$pod" -o jsonpath='{.spec.initContainers[*].name} {.spec.containers[*].name}' </dev/null); do
        LIMIT=60000 run "kubectl -n $namespace logs $pod -c $container --tail=200"
        LIMIT=60000 run "kubectl -n $namespace logs -p $pod -c $container --tail=200 2>/dev/null"
      done
    done
  kubectl get nodes --no-headers 2>/dev/null | awk '$2 !~ /^Ready/ { print $1 }' | head -5 | while read -r node; do
    section "nodes/$node/describe"
    LIMIT=60000 run "kubectl describe node $node"
  done
fi

if [ -n "$folder" ]; then
  printf '{"collected": "%s", "by": "tortie doctor collect", "host": "%s", "masked": ["tokens", "keys", "passwords", "certificates"]}\n' \
    "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$host" >"$folder/meta.json"
fi
