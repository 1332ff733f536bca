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
if [ -n "$folder" ] && [ -n "$(ls -A "$folder" 2>/dev/null)" ]; then
  printf 'collect.sh: %s is not empty; name a new folder\n' "$folder" >&2
  exit 2
fi

# Secrets are taken out, words that only speak of them stay. First what goes over several lines: keys, certificates, and
# `name: API_TOKEN` with its `value:` on the next line; then what is in one line. A value that is a path, a reference or a
# state is marked with a byte that no value has (\001), so that the rules after it leave it alone.
masked() {
  local mark=$'\001' hidden='(redacted)' b='[[:space:]]*' q='\\?["'\'']?' value to is word password named some given part
  some='([[:space:]][^|;]*)?[[:space:]]' # other options
  given="(\"[^\"]*\"|'[^']*'|[^[:space:]\"'|;\$<({\/-][^[:space:]\"'|;]*)"
  part="[^&[:space:]\"';]"
  value="[^][[:space:]\"',;{}()<>|$mark]"
  is="$q$b(:|=|：|[[:space:]]=>)$b"
  to="$b,$b${q}value$q$b[:=]$b$q"
  word='[A-Za-z0-9_.-]*(token|passwo?r?d|passphrase|[_-]pass|pwd|secret|_key|apikey|psk|credentials?|auth)'
  password='(passwo?r?d|passphrase|[_-]pass|["'\'']pass|sshpass|pwd)'
  named='(token|secret|(secret|api|access|private|shared)_?key|psk|credentials?|auth)'
  awk '
    function packed(line) {
      gsub(/["\047, \t\r]/, "", line)
      return line ~ /^[A-Za-z0-9+\/=]*$/ || line ~ /^(Proc-Type|DEK-Info):/
    }
    inside && (/-----END/ || packed($0)) { inside = !/-----END/; print "(redacted)"; next }
    { inside = 0 }
    match($0, /-----BEGIN [A-Z0-9 ]+-----/) {
      inside = !/-----END/
      print substr($0, 1, RSTART + RLENGTH - 1) " (redacted)"
      next
    }
    named && match($0, /^[ \t]*["\047]?value["\047]?[ \t]*:[ \t]*["\047]?/) && substr($0, RSTART + RLENGTH) !~ /^([\/$<(|>]|true|false|null)/ {
      rest = substr($0, RSTART + RLENGTH)
      match(rest, /["\047]?,?[ \t]*$/)
      $0 = substr($0, 1, length($0) - length(rest)) "(redacted)" substr(rest, RSTART)
    }
    { named = tolower($0) ~ /^[ \t{-]*["\047]?name["\047]?[ \t]*:[ \t]*["\047]?[a-z0-9_.-]*(token|passwo?r?d|passphrase|[_-]pass|pwd|secret|_key|apikey|psk|credentials?|auth)["\047]?,?[ \t]*$/; print }
  ' | sed -E \
    -e "s/((redis-cli$some-a|ldap[a-z]+$some-w|ipmitool$some-P|snmp[a-z]+$some-c|mongo[a-z]*$some-p|smbclient$some-U)$b)$given/\1$hidden/g" \
    -e "s/(snmp[a-z]+$some-A$b)$given/\1$hidden/g" \
    -e "s/(snmp[a-z]+$some-X$b)$given/\1$hidden/g" \
    -e "s/([[:space:]]-pass(in|out)?[[:space:]]+pass:)[^[:space:]]+/\1$hidden/g" \
    -e "s/(--from-literal[= ][\"']?[A-Za-z0-9_.-]+=)$given/\1$hidden/g" \
    -e "s/((ETCD(CTL)?_USER|USERPWD|BASIC_AUTH)=[\"']?[^[:space:]:\"'\/]+:)[^[:space:]\"']+/\1$hidden/g" \
    -e "s/((^|[[:space:]])--?([a-z0-9]+-){0,4}(password|passwd|passphrase|pass|secret|(api|access|certificate)-?key)[ =])$given/\1$hidden/gI" \
    -e "s/((^|[[:space:]])(-[uU]|--proxy-user[ =])[[:space:]]?[\"']?[^[:space:]:\/\"'+%-][^[:space:]:\/\"']*:)([^[:space:]\"']*[^0-9[:space:]\"'][^[:space:]\"']*)/\1$hidden/g" \
    -e "s/((echo|printf)[[:space:]]+(-[ne]+[[:space:]]+)?)[^|]*[^|[:space:]]($b\|$b((sudo +)?(chpasswd|passwd +--stdin)|sudo +(-[A-Za-z]+ +)?-S|[^|]*--password-stdin))/\1$hidden\4/g" \
    -e "s/(authorization[\"']?$b[:=]$b[\"']?(bearer|basic|token|digest|negotiate|ntlm|apikey|aws4[a-z0-9-]*)([[:space:]]+|%20|\+))[^\"'(]{4,}/\1$hidden/gI" \
    -e "s/(bearer(%20|\+))[^[:space:]\"'&(]{4,}/\1$hidden/gI" \
    -e "s/((^|[^a-z0-9])(x-([a-z]+-)*(key|token|secret|signature)|private-token|api-key)[\"']?$b:$b[\"']?)[^[:space:]\"'(]{4,}/\1$hidden/gI" \
    -e "s/(cookie:$b)[^\"'(]{4,}/\1$hidden/gI" \
    -e "s/(:\/\/)([A-Za-z_.~-]+[0-9][A-Za-z0-9_.~-]{12,}|[A-Za-z0-9_.~-]{12,}[0-9][A-Za-z0-9_.~-]*)@/\1$hidden@/g" \
    -e "s/([?&;](sig|signature|x-amz-(signature|credential|security-token)|x-goog-signature|key|code|auth|access_?token|id_token|token|api_?key|client_secret|secret|account_?key|sharedaccess(key|signature))=)($part{3,}[0-9]$part*|$part*[0-9]$part{3,})/\1$hidden/gI" \
    -e "s/(hooks\.slack\.com\/[a-z]+\/|\/api\/webhooks\/|\/bot\/v2\/hook\/|\/webhookb2\/)[^[:space:]\"'<>]{6,}/\1$hidden/g" \
    -e "s/((snmp-server[[:space:]]+community|(ro|rw|trap)community6?|requirepass|masterauth|auth_pass)[[:space:]]+)$given/\1$hidden/g" \
    -e "s/(stats auth[[:space:]]+[^[:space:]:]+:)[^[:space:]]+/\1$hidden/g" \
    -e "s/(password[[:space:]]+)[^[:space:]\"';(]+($b;)/\1$hidden\2/g" \
    -e "s/((neighbor|login)[[:space:]]+[^[:space:]]+[[:space:]]+password[[:space:]]+)$given/\1$hidden/g" \
    -e "s/^([[:space:]]+password[[:space:]]+)[^[:space:]]*[^a-z[:space:]][^[:space:]]*\$/\1$hidden/" \
    -e "s/(secret[[:space:]]+\")[^\"]+(\"$b;)/\1$hidden\2/g" \
    -e "s/(\\\$(1|2[aby]|5|6|7|y|gy|apr1|argon2[a-z]+)\\\$)[.\/A-Za-z0-9\$,=+]{8,}/\1$hidden/g" \
    -e "s/(^|[^A-Za-z0-9])(npm_[A-Za-z0-9]{30,}|sk-[A-Za-z0-9_-]{20,}|[sr]k_live_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,}|AIza[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{30,}|dop_v1_[0-9a-f]{32,}|hv[sb]\.[A-Za-z0-9_-]{20,}|LTAI[A-Za-z0-9]{12,}|ya29\.[A-Za-z0-9_-]{20,}|AGE-SECRET-KEY-1[A-Z0-9]{40,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{20,}|pypi-[A-Za-z0-9_-]{40,}|glptt-[0-9a-f]{30,}|xapp-[A-Za-z0-9_-]{20,})/\1$hidden/g" \
    -e "s/(^|[^A-Za-z0-9.])eyJ[A-Za-z0-9+\/_-]{16,}=*([^A-Za-z0-9+\/_.=-]|\$)/\1$hidden\2/g" \
    -e "s/((private[_ ]?key(_id)?|(pre)?shared_?key|account_?key|encryption[-_]key|signing[-_]key)$is$q)[^][[:space:]\"',;{}()<>|\/]$value{3,}/\1$hidden/gI" \
    -e "/kind$q$b:$b${q}Secret$q$b[,}]/ s/((data|stringData)$q$b:$b)\{[^{}]*\}/\1{\"$hidden\":\"\"}/g" \
  | sed -E \
    -e '/eyJ|LS0t|AKIA|ASIA|gh[pousr]_|xox|glpat-|token|pass|pwd|密码|口令|secret|bearer|basic|key|cert|\.crt|credential|auth|psk|:\/\/|-u|--user|mysql|login/I!b' \
    -e "s/([:=]$b[\"']?)((true|false|yes|no|on|off|none|null|nil|expired|invalid|incorrect|wrong|required|authentication|permission)([^A-Za-z0-9_]|\$)|system:|[\$*]|\/([^\/]|\$)|x509|[a-z-]+-token-[a-z0-9]{5}([^a-z0-9]|\$))/\1$mark\2/gI" \
    -e "s/((password|passwd|passphrase) (is|was) )((not|no|the|an?|in|on|too|only|still|also|wrong|correct|right|same|different|empty|missing|set|ok|[a-z]+ed|[a-z]+ [^ ].*|[\/\$<(].*)([^A-Za-z0-9].*)?)\$/\1$mark\4/I" \
    -e "s/eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(\.[A-Za-z0-9_-]*)?/$hidden/g" \
    -e "s/(^|[^a-z0-9_])((bearer|basic)[[:space:]]+)([a-z0-9._~+\/=-]{16,}|[a-z._~+\/=-]*[0-9][a-z0-9._~+\/=-]{4,})/\1\2$hidden/gI" \
    -e "s/(:\/\/[^\/[:space:]:@]+:)[^\/[:space:]@]+@/\1$hidden@/g" \
    -e "s/((client-key|client-certificate|certificate-authority|etcd-(key|cert|ca)|tls\.key|tls\.crt|ca\.crt)(-data)?$is$q)[A-Za-z0-9+\/=]{24,}/\1$hidden/gI" \
    -e "s/LS0tLS1[A-Za-z0-9+\/]{8,}=*/$hidden/g" \
    -e "s/(AKIA|ASIA)[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}|glpat-[A-Za-z0-9_-]{16,}/$hidden/g" \
    -e "/token/I s/(^|[^a-z0-9])[a-z0-9]{6}\.[a-z0-9]{16}([^a-z0-9]|\$)/\1$hidden\2/g" \
    -e "s/(password[[:space:]]+[\"'])[^\"']+/\1$hidden/gI" \
    -e "s/([[:space:]]--?password[ =])[^-[:space:]\/\$<($mark][^[:space:]]*/\1$hidden/gI" \
    -e "s/([[:space:]]--?(token|secret)[ =])[^-[:space:]\/\$<($mark][^[:space:]]*[0-9][^[:space:]]*/\1$hidden/gI" \
    -e "s/((^|[[:space:]])(-u |--user[ =])[\"']?[^[:space:]:\/\"']*[^0-9[:space:]:\/\"'][^[:space:]:\/\"']*:)[^[:space:]\"']+/\1$hidden/g" \
    -e "s/((sshpass[[:space:]]+-p[[:space:]]?|login[[:space:]]([^|;]*[[:space:]])?-p[[:space:]])[\"']?)[^[:space:]\"']+/\1$hidden/g" \
    -e "s/(mysql[a-z]*([[:space:]][^|;]*)?[[:space:]]-p[\"']?)([^[:space:]\"'0-9][^[:space:]\"']*|[^[:space:]\"':]+([[:space:]\"']|\$))/\1$hidden\4/g" \
    -e "s/((password|passwd|passphrase) (is|was):? [\"']?)([^[:space:]$mark]*[0-9][^[:space:]]*|[^[:space:]$mark]+\$)/\1$hidden/gI" \
    -e "s/((密码|口令)$b((就)?是|为|改成|改为|:|=|：)(:|：)?$b)[!-~]+/\1$hidden/g" \
    -e "s/(name$q$b[:=]$b$q$word$q$to)[^][:space:]\"'\\\\,}$mark]+/\1$hidden/gI" \
    -e "s/(value$q$b[:=]$b$q)[^][:space:]\"'\\\\,}$mark]+($q$b,$b${q}name$q$b[:=]$b$q$word$q($b[,}]|\$))/\1$hidden\2/gI" \
    -e "s/($password$is\\\\?\")[^\"\\\\$mark][^\"\\\\]*/\1$hidden/gI" \
    -e "s/($password$is')[^'$mark][^']*/\1$hidden/gI" \
    -e "s/($password$is)$value+/\1$hidden/gI" \
    -e "s/([:=]$b[\"']?)([0-9]{1,6}s?([^0-9A-Za-z]|\$))/\1$mark\2/g" \
    -e "s/($named$is$q)($value{3,}[0-9]$value*|$value*[0-9]$value{3,})/\1$hidden/gI" \
    -e "s/$mark//g"
}

# Where the next answers belong: nodes/<node>/ip-addr, cluster/pods ...
section() {
  part=$1
  if [ -n "${PROGRESS:-}" ]; then printf 'collecting %s\n' "$part" >&2; fi
}

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

# A question the script asks for itself.
ask() { timeout -k 2 10 "$@" 2>/dev/null </dev/null; }
there() { ask "$@" >/dev/null; }

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
have ss && run "ss -tno '( sport = :179 or dport = :179 )'"
have nstat && run 'nstat -asz TcpExtTCPMD5NotFound TcpExtTCPMD5Unexpected TcpExtTCPMD5Failure'
section "nodes/$host/sysctl"
run 'sysctl net.ipv4.ip_forward net.ipv4.conf.all.rp_filter net.ipv4.conf.all.forwarding net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max'
run "sysctl -ar 'ipv4.conf.*[.]rp_filter' | head -40"
run 'cat /etc/hosts'
have getent && run 'getent ahostsv4 localhost'
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
run 'ls -la /var/lib/calico /var/run/calico'
section "nodes/$host/units"
for unit in kubelet containerd docker firewalld NetworkManager; do
  there systemctl cat "$unit" && run "systemctl status $unit --no-pager -n 0 -l"
done
have journalctl && for unit in kubelet containerd docker crio; do
  section "nodes/$host/journal-runtime"
  [ "$unit" = kubelet ] && section "nodes/$host/journal-kubelet"
  there systemctl cat "$unit" && LIMIT=60000 run "journalctl -u $unit -n 150 --no-pager"
done
section "nodes/$host/kernel"
have dmesg && run 'dmesg -T | grep -i -e oom -e "out of memory" -e md5 -e conntrack -e "neighbor table overflow" -e unregister_netdevice | tail -30'
section "nodes/$host/runtime"
runtime_socket=$(ls /run/containerd/containerd.sock /run/crio/crio.sock /run/k3s/containerd/containerd.sock /var/run/cri-dockerd.sock 2>/dev/null | head -1)
have crictl && [ -n "$runtime_socket" ] && run 'crictl ps -a | head -40' && run 'crictl info | grep -i -e lastCNILoadStatus -e confDir -e binDir -e SystemdCgroup'
have docker && [ -S /var/run/docker.sock ] && run 'docker ps -a --format "table {{.Names}}\t{{.Status}}" | head -40'
run 'grep -n -e SystemdCgroup -e bin_dir -e conf_dir /etc/containerd/config.toml'
run 'grep -n -e cgroupDriver -e failSwapOn /var/lib/kubelet/config.yaml'
section "nodes/$host/node-status"
have curl && run 'curl -s -m 3 -o /dev/null -w "%{http_code}\n" http://127.0.0.1:9099/liveness'
have curl && run 'curl -s -m 3 -o /dev/null -w "%{http_code}\n" http://127.0.0.1:9099/readiness'
have curl && run 'curl -s -m 3 -o /dev/null -w "%{http_code}\n" http://localhost:9099/liveness'
have calicoctl && run 'calicoctl node status'
if have tortie; then
  run 'tortie node status'
  run 'tortie get nodes -o wide'
  run 'tortie node explain'
  run 'tortie node timeline'
  [ -r "${TORTIE_ROOT:-/nowhere}/log" ] && run "tail -n 200 $TORTIE_ROOT/log"
fi
# Peers that are not up: do they answer at all, and at BGP's port?
agent=tortie
have calicoctl && agent=calicoctl
ask "$agent" node status |
  awk -F'|' '$4 ~ /start|down/ { gsub(/ /, "", $2); if ($2 ~ /^[0-9.]+$/ && n++ < 8) print $2 }' |
  while read -r peer; do
    have ping && run "ping -c 2 -W 1 $peer"
    run "timeout 3 bash -c '</dev/tcp/$peer/179' && echo 179 open || echo 179 closed"
  done

# The cluster, where kubectl reaches it
if have kubectl && there kubectl version; then
  section cluster/nodes
  run 'kubectl version'
  run 'kubectl get nodes -o wide'
  run "kubectl get nodes -o custom-columns='NAME:.metadata.name,INTERNAL:.status.addresses[?(@.type==\"InternalIP\")].address,CALICO:.metadata.annotations.projectcalico\.org/IPv4Address'"
  section cluster/pods
  LIMIT=600000 run 'kubectl get pods -A -o wide'
  run 'kubectl get ds -A'
  run 'kubectl get endpoints kubernetes'
  section cluster/events
  for namespace in kube-system calico-system tigera-operator; do
    there kubectl get namespace "$namespace" || continue
    LIMIT=100000 run "kubectl -n $namespace get events --sort-by=.lastTimestamp | tail -100"
  done
  section cluster/configmaps
  for map in calico-config kubeadm-config kube-proxy kubernetes-services-endpoint; do
    there kubectl -n kube-system get configmap "$map" && run "kubectl -n kube-system get configmap $map -o yaml"
  done
  section cluster/calico
  for kind in ippools bgpconfigurations bgppeers felixconfigurations hostendpoints clusterinformations; do
    run "kubectl get $kind.crd.projectcalico.org -o yaml"
  done
  for kind in blockaffinities ipamblocks; do
    run "kubectl get $kind.crd.projectcalico.org --no-headers | wc -l"
  done
  there kubectl get tigerastatus && run 'kubectl get tigerastatus -o yaml'
  section cluster/daemonsets
  ask kubectl get ds -A --no-headers | awk '$2 ~ /^(calico-node|canal|kube-calico)/ { print $1, $2 }' |
    while read -r namespace name; do
      run "kubectl -n $namespace get ds $name -o yaml"
    done
  # All pods are listed above; those of Calico that are not well are looked at closely, and one agent that is, to compare
  # with: the one of this machine if there is one.
  ask kubectl get pods -A -o wide --no-headers |
    awk -v host="$host" '
      $2 !~ /^(calico-|canal|kube-calico)/ { next }
      { split($3, n, "/"); sick = n[1] != n[2] || $4 != "Running" }
      sick && seen++ < 12 { print $1, $2 }
      !sick && $2 ~ /^(calico-node|canal|kube-calico)/ {
        here = 0
        for (field = 5; field <= NF; field++) if ($field == host) here = 1
        if (here || well == "") well = $1 " " $2
      }
      END { if (well != "") print well }' |
    while read -r namespace pod; do
      section "cluster/describe/$pod"
      LIMIT=60000 run "kubectl -n $namespace describe pod $pod"
      section "cluster/logs/$pod"
      for container in $(ask kubectl -n "$namespace" get pod "$pod" -o jsonpath='{.spec.initContainers[*].name} {.spec.containers[*].name}'); do
        LIMIT=60000 run "kubectl -n $namespace logs $pod -c $container --tail=200"
        LIMIT=60000 run "kubectl -n $namespace logs -p $pod -c $container --tail=200 2>/dev/null"
      done
    done
  ask kubectl get nodes -o wide --no-headers | awk '$2 !~ /^Ready/ { print $1, $6 }' | head -5 |
    while read -r node address; do
      section "nodes/$node/describe"
      LIMIT=60000 run "kubectl describe node $node"
      [[ $address =~ ^[0-9.]+$ ]] && have ping && run "ping -c 2 -W 1 $address"
    done
fi

if [ -n "$folder" ]; then
  printf '{"collected": "%s", "by": "%s", "host": "%s", "masked": ["tokens", "keys", "passwords", "certificates"]}\n' \
    "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "${COLLECTED_BY:-tortie doctor collect}" "$host" >"$folder/meta.json"
fi
