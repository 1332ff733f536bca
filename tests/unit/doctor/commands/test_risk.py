"""How much a command can hurt: rows of commands, and the rule that what is unknown is disruptive."""

from __future__ import annotations

import pytest

from tortie.doctor.commands.risk import risk_of
from tortie.doctor.commands.shell import Shell

SAFE = """
kubectl get nodes -o wide
kubectl -n kube-system describe pod calico-node-x | grep -A3 Events
kubectl -n kube-system logs calico-node-x -c calico-node --tail=50
kubectl top pod -A
kubectl rollout status ds/calico-node
kubectl -n kube-system rollout history ds/calico-node
kubectl auth can-i get pods --as=system:serviceaccount:kube-system:calico-node
kubectl config view --raw --minify
kubectl delete pod x --dry-run=client
kubectl -n kube-system delete pod --field-selector status.phase=Failed -l k8s-app=calico-node
kubectl uncordon w-1
kubectl label node w-1 a=b
kubectl -n kube-system create cm x --from-literal=a=b
kubectl -n kube-system exec calico-node-x -- cat /etc/hosts
kubectl -n kube-system exec calico-node-x -- birdcl show protocols
kubectl -n kube-system exec calico-node-x -c calico-node -- sh -c 'cat /sys/fs/cgroup/cpu.stat; ls /'
oc get pods -A
microk8s kubectl get pods
k3s kubectl logs x
microk8s status
calicoctl node status
calicoctl get ippool -o wide
calicoctl ipam show --show-blocks
calicoctl ipam check -o report.json
calicoctl node diags
etcdctl member list -w table
etcdctl --endpoints=https://10.0.0.1:2379 endpoint health
etcdctl --endpoints https://10.0.0.1:2379 endpoint status
etcdctl snapshot save ~/etcd.db
etcdctl get /calico --prefix --keys-only
ip -br link
ip -d link show tunl0
ip route get 10.96.0.1
ip rule
ip -4 addr show dev eth0
ip neigh
ip netns exec x ip route
timeout 60 ip monitor route
nsenter -t 4711 -n ip addr
iptables -nvL FORWARD
iptables -t nat -S
iptables -C INPUT -p tcp --dport 179 -j ACCEPT
iptables -I INPUT -p tcp --dport 179 -j ACCEPT
iptables-save -t nat | grep -c KUBE-SVC
iptables-save > ~/iptables-before.txt
nft list ruleset
nft -a list chain inet filter input
ipset list -n
ipvsadm -Ln
conntrack -L -p udp
firewall-cmd --list-all
firewall-cmd --permanent --add-port=179/tcp
firewall-cmd --zone=trusted --add-source=10.0.0.0/8
ufw status
ufw allow 179/tcp
systemctl status kubelet --no-pager
systemctl enable --now kubelet
systemctl start etcd
systemctl daemon-reload
systemctl show containerd -p Environment
ssh w-1 'systemctl status kubelet; journalctl -u kubelet -n 50'
ssh -i key w-1 uptime
journalctl -u kubelet --since -15min | tail
sysctl net.ipv4.ip_forward
sysctl -w net.ipv4.ip_forward=1
sysctl -w net.netfilter.nf_conntrack_max=262144
echo 'net.ipv4.ip_forward = 1' > /etc/sysctl.d/99-calico.conf
echo xt_set > /etc/modules-load.d/calico.conf
modprobe wireguard
lsmod | grep ip_set
mount -t bpf bpffs /sys/fs/bpf
mount --make-rshared /sys
findmnt -o TARGET,PROPAGATION /sys
curl -sk -m3 https://10.0.0.1:6443/readyz
curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:9099/liveness
openssl s_client -connect 10.0.0.1:6443 </dev/null 2>/dev/null | openssl x509 -noout -enddate
nc -vz -w3 10.0.0.2 179
ping -c2 10.0.0.2; tcpdump -ni eth0 udp port 4789
crictl ps -a
crictl pull docker.io/calico/node:v3.27.0
ctr -n k8s.io images import node.tar
docker network inspect bridge
docker exec x ps aux
ethtool -i eth0
ethtool -k eth0
tc qdisc show dev eth0
nmcli dev
nmcli connection show
networkctl list
chronyc tracking
kubeadm certs check-expiration
kops update cluster
helm list -A
aws ec2 describe-instances --instance-ids i-1
aws ec2 authorize-security-group-ingress --group-id sg-1 --protocol tcp --port 179 --source-group sg-1
openstack security group rule create --protocol 4 web
cp /etc/containerd/config.toml /etc/containerd/config.toml.bak
for m in a b; do openssl s_client -connect $m:6443; done
find /var/lib/cni -name x
sed -n 1,3p /etc/hosts
awk '{print $2}' /etc/hosts
diff <(nft list ruleset) <(cat before)
"""
DISRUPTIVE = """
kubectl delete node w-1
kubectl delete pod calico-node-x
kubectl delete --field-selector status.phase=Failed ns x
kubectl drain w-1 --ignore-daemonsets
kubectl drain w-1 && reboot
kubectl -n kube-system set env ds/calico-node A=b
kubectl -n kube-system set resources ds/calico-node --limits=cpu=1
kubectl -n kube-system rollout restart ds/calico-node
kubectl -n kube-system rollout undo ds/calico-node
kubectl -n kube-system patch cm calico-config --type merge -p '{"data":{"etcd_endpoints":"http://a:2379"}}'
kubectl patch felixconfiguration default --type merge -p '{"spec":{"bpfEnabled":false}}'
kubectl patch installation default --type merge -p '{}'
kubectl apply -f calico.yaml
kubectl create -f x.yaml
kubectl replace -f x.yaml
kubectl edit ds calico-node
kubectl scale deploy/x --replicas=0
kubectl label node w-1 a-
kubectl label --overwrite ns kube-system a=b
kubectl annotate node w-1 a=b --overwrite
kubectl label node --all a=b
kubectl annotate node w-1 projectcalico.org/IPv4Address=10.0.0.1/24
kubectl config use-context x
kubectl auth reconcile -f x
kubectl run probe --image=x
kubectl exec x rm /y
kubectl exec x -- rm /y
kubectl exec x -- sh -c 'ls; kill 1'
kubectl cordon w-1
microk8s kubectl delete pod x
microk8s stop
k3s server
calicoctl delete node w-1
calicoctl apply -f x.yaml
calicoctl patch ippool x -p '{}'
calicoctl ipam release --ip=10.0.0.1
calicoctl ipam configure --strictaffinity=true
calicoctl datastore migrate lock
calicoctl node run status
etcdctl member remove 8e9e05c52164694d
etcdctl member add x --peer-urls=https://10.0.0.1:2380
etcdctl member update x
etcdctl defrag
etcdctl compact 5
etcdctl del /calico --prefix
etcdctl put a b
etcdctl alarm disarm
etcdctl snapshot restore x
etcdctl --endpoints https://10.0.0.1:2379 member remove x
x=$(etcdctl member remove 1)
ip link del docker0
ip link set eth0 down
ip addr add 10.0.0.1/24 dev eth0
ip addr del 10.0.0.1/24 dev eth0
ip rule del priority 100
ip rule add to 10.0.0.0/8 lookup main
ip route flush table 100
ip route replace default via 10.0.0.1
ip r d default
ip neigh flush all
ip -batch x
ip netns exec x ip link del eth0
nsenter -t 1 -n ip link del x
iptables -F
iptables -P FORWARD ACCEPT
iptables -D INPUT 1
iptables -I INPUT -j DROP
iptables -nvL -Z
iptables-restore < x
nft flush ruleset
nft delete table list
ipset destroy
ipset flush list
ipvsadm -C
conntrack -F
conntrack -D -s 10.0.0.1
firewall-cmd --reload
firewall-cmd --remove-port=179/tcp
firewall-cmd --add-rich-rule='rule family=ipv4 source address=10.0.0.0/8 drop'
firewall-cmd --zone=drop --add-source=10.0.0.0/8
ufw delete allow 179/tcp
ufw enable
ufw deny 22
systemctl stop kubelet
systemctl restart containerd
systemctl disable --now firewalld
systemctl start firewalld
systemctl enable --now nftables.service
systemctl mask swap.target
systemctl reload NetworkManager
ssh w-1 'systemctl status kubelet; systemctl restart kubelet'
ssh w-1 <<'EOF'
ssh w-1
sudo reboot
reboot
shutdown -r now
kill -9 4711
pkill calico
sysctl -w net.ipv4.ip_forward=0
sysctl -w net.ipv4.conf.all.rp_filter=1
sysctl --system
sysctl -p
swapoff -a
modprobe -r ip_set
rmmod ip_set
mount -o remount,exec /opt
umount /x
rm -f /var/lib/calico/nodename
mv /etc/cni/net.d/10-flannel.conflist ~/
ln -s a b
echo x > /etc/cni/net.d/10-calico.conflist
echo x > /etc/default/kubelet
echo x &> /etc/hosts
echo x >& /etc/hosts
echo x | tee /etc/hosts
printf x >> /etc/hosts
echo 1 > /proc/sys/net/ipv4/ip_forward
sed -i 's/a/b/' /etc/fstab
sed -i.bak 's/a/b/' /etc/fstab
sed -ni p /etc/fstab
awk '{print > "/etc/x"}' /etc/hosts
find /var/lib/cni -name x -delete
find / -exec rm {} +
curl -X DELETE http://10.0.0.1/x
curl -sXPOST http://10.0.0.1/x
curl -d a=b http://10.0.0.1
curl -o /etc/hosts http://10.0.0.1
wget --post-data=a http://10.0.0.1
hostname new-name
hostnamectl set-hostname x
date -s 2020-01-01
chronyc makestep
hwclock --systohc
timedatectl set-ntp true
journalctl --vacuum-size=500M
dmesg -C
ss -K dst 10.0.0.1
fuser -k 179/tcp
arp -d 10.0.0.1
crictl rmi --prune
crictl stop x
ctr images rm list
docker network rm x
docker rm -f x
docker exec x rm -rf logs
ethtool -K eth0 tx off
tc qdisc del dev eth0 root
nmcli connection modify x +ipv4.routes 10.0.0.0/8
nmcli device set eth0 managed no
networkctl reload
kubeadm reset
kubeadm certs renew all
kubeadm init phase addon kube-proxy
kops update cluster --yes
kops delete cluster x --yes
helm uninstall list
rke up --config cluster.yml
talosctl reset
aws ec2 terminate-instances --instance-ids i-1
aws ec2 modify-instance-attribute --instance-id i-1 --instance-type m5.large
openstack server delete show
openssl req -x509 -out /etc/x
cp a /etc/kubernetes/admin.conf
cp /etc/kubernetes/admin.conf ~/.kube/config
restorecon -Rv /opt/cni/bin
semanage fcontext -a -t container_file_t /opt
setenforce 0
apt-get install x
snap refresh microk8s
calico-node -felix
echo $(kubectl delete node x)
echo "$(rm x)"
for x in $(kubectl delete node y); do ls; done
A=$(rm x) ls
ls `rm x`
diff <(rm x) y
(cd /x; rm y)
xargs kubectl delete pod
timeout 5 reboot
watch 'kubectl delete pod x'
something-nobody-knows --help
<verb> x
kubectl <verb> x
ls 'unclosed
"""


def rows(table: str) -> list[str]:
    return [line for line in table.splitlines() if line]


@pytest.mark.parametrize("command", rows(SAFE))
def test_safe(command: str) -> None:
    assert risk_of(Shell(command)) == "safe"


@pytest.mark.parametrize("command", rows(DISRUPTIVE))
def test_disruptive(command: str) -> None:
    assert risk_of(Shell(command)) == "disruptive"


def test_a_value_counts_too() -> None:
    template = Shell("systemctl start <unit>")
    assert risk_of(template.fill({"unit": "kubelet"})) == "safe"
    assert risk_of(template.fill({"unit": "firewalld"})) == "disruptive"
