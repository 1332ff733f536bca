# What `tortie node diags` asks beyond collect.sh, whose functions it uses: whole tables instead of what a ticket needs,
# and the logs of LOG_DIR. Appended to that script, never run alone. Read-only like it.
LOG_BYTES=2000000 # of each file, its end
FILES_MAX=200
LIMIT=8000000

section "nodes/$host/network"
run 'hostname'
run 'ip -4 route show table all'
run 'ip -6 route show table all'
run 'ip -6 addr'
run 'ip -s -d link'
run 'ip -6 neigh'
have bridge && run 'bridge fdb show'
have tc && run 'tc qdisc show'
section "nodes/$host/sockets"
if have ss; then
  run 'ss -a -n 2>/dev/null' # of kinds that the kernel does not have it says so each time
elif have netstat; then
  run 'netstat -a -n'
fi
section "nodes/$host/rules"
have nft && run 'nft -n -a list ruleset'
have iptables-save && run 'iptables-save -c'
have ip6tables-save && run 'ip6tables-save -c'
have ipset && run 'ipset list'
have conntrack && run 'conntrack -S'
have bpftool && run 'bpftool prog list' && run 'bpftool map list'
section "nodes/$host/agent"
have curl && run 'curl -s -m 3 "http://127.0.0.1:9099/readiness?verbose"'
have curl && run 'curl -s -m 3 http://127.0.0.1:9091/metrics'
if have tortie; then
  run 'tortie version'
  run 'tortie node status -o json'
  run 'tortie node timeline --all'
fi
have journalctl && for unit in calico-node tortie-node; do
  there systemctl cat "$unit" && run "journalctl -u $unit.service -n 20000 --no-pager"
done

# Containers of Calico: by docker, or by whatever answers crictl.
section "nodes/$host/containers"
logged() {
  while read -r name; do
    [[ $name =~ ^[A-Za-z0-9_.-]+$ && $name != *k8s_POD* ]] || continue
    section "nodes/$host/containers/$name"
    run "$1 logs --tail 5000 $name"
  done
}
have docker && [ -S /var/run/docker.sock ] && ask docker ps -a --filter name=calico --format '{{.Names}}' | logged docker
have crictl && [ -n "$runtime_socket" ] && ask crictl ps -a --name calico -q | logged crictl

section "nodes/$host/logs"
if [ -d "$LOG_DIR" ]; then
  run "ls -la --time-style=full-iso -R $(printf %q "$LOG_DIR")"
  find -H "$LOG_DIR" -type f -size +0 -print0 2>/dev/null | head -z -n "$FILES_MAX" |
    while IFS= read -r -d '' file; do
      section "nodes/$host/logs/${file#"$LOG_DIR"/}"
      case $file in
      *.gz) run "zcat -- $(printf %q "$file") | tail -c $LOG_BYTES" ;;
      *) run "tail -c $LOG_BYTES -- $(printf %q "$file")" ;;
      esac
    done
else
  run "ls -la $(printf %q "$LOG_DIR")"
  printf 'No logs found in %s; skipping log copying\n' "$LOG_DIR" >&2
fi
