"""TRT7013: eBPF is on and something it needs is missing."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

LOG = """
        $ kubectl -n calico-system logs calico-node-rr2tl -c install-cni
        dial tcp 10.96.0.1:443: i/o timeout
"""
FELIX = """
        $ kubectl get felixconfiguration default -o yaml | grep -i bpf
          bpfEnabled: {}
"""
PROXY = """
        $ kubectl -n kube-system logs kube-proxy-7dx2v --tail=1
        E0909 09:09:09.000000       1 proxier.go:1556] Failed to execute iptables-restore: exit status 1 \
        (iptables-restore: line 144 failed)
        # iptables-save | grep -c KUBE-SVC
        0
"""


def test_kube_proxy_still_runs() -> None:
    answer = finding("ebpf-misconfigured", LOG + FELIX.format("true") + PROXY)
    assert answer.state == "found"
    assert answer.strength >= 0.95
    assert "bpfEnabled" in answer.objects
    assert "kube-proxy" in answer.objects


def test_the_health_port_is_taken() -> None:
    answer = finding(
        "ebpf-misconfigured",
        """
        启用 eBPF 之后 calico-node 日志不停报错：
        2022-08-08 08:08:08.888 [ERROR][66] felix/proxy.go 160: BPF Proxy Healthz server failed error=failed to \
        start proxy healthz on 0.0.0.0:10256: listen tcp 0.0.0.0:10256: bind: address already in use
        """
        + FELIX.format("true"),
    )
    assert answer.strength >= 0.9
    assert "10256" in answer.objects


def test_not_in_this_mode() -> None:
    answer = finding("ebpf-misconfigured", LOG + FELIX.format("false") + PROXY)
    assert answer.strength < 0.8


def test_the_mode_alone_is_no_fault() -> None:
    assert finding("ebpf-misconfigured", FELIX.format("true")).strength < 0.8


def test_nobody_tells_where_the_api_server_is() -> None:
    lists = """
        $ kubectl -n calico-system get ds
        NAME          DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR            AGE
        calico-node   1         1         0       1            0           kubernetes.io/os=linux   8m50s
        $ kubectl -n tigera-operator get cm
        NAME               DATA   AGE
        kube-root-ca.crt   1      9m21s
    """
    assert finding("ebpf-misconfigured", LOG + FELIX.format("true") + lists).strength >= 0.9
    there = lists + "    kubernetes-services-endpoint   2   9m\n"
    assert finding("ebpf-misconfigured", LOG + FELIX.format("true") + there).strength < 0.8
    some = lists.replace("get cm", "get cm | head -2")
    assert finding("ebpf-misconfigured", LOG + FELIX.format("true") + some).strength < 0.8


_REFUSED = (
    "2021-02-03 04:38:27.044 [ERROR][74] felix/daemon.go 337: BPF dataplane mode enabled but not supported by the "
    "kernel.  Disabling BPF mode.\n"
)
_ON = "2021-02-03 04:38:26.981 [INFO][74] felix/config_params.go 471: Parsed value for BPFEnabled: true (from env)\n"


def test_a_kernel_that_is_too_old_is_named_in_whatever_form_it_is_shown() -> None:
    table = (
        "$ kubectl get nodes -o wide\n"
        "NAME    STATUS   ROLES    AGE   VERSION   INTERNAL-IP   EXTERNAL-IP   OS-IMAGE       KERNEL-VERSION"
        "      CONTAINER-RUNTIME\n"
        "ibex    Ready    <none>   9d    v1.19.3   10.1.0.4      <none>        Ubuntu 18.04   4.15.0-99-generic"
        "   docker://19.3.13\n"
    )
    for form in (
        "$ uname -r\n4.15.0-99-generic\n",
        "$ uname -a\nLinux ibex 4.15.0-99-generic #100-Ubuntu SMP Wed x86_64 GNU/Linux\n",
        table,
        "我们的环境：ubuntu 18.04，内核版本 4.15.0-99-generic，开了 eBPF 之后不生效\n",
        "We run Ubuntu 18.04 with kernel 4.15.0-99-generic and it does not work.\n",
    ):
        answer = finding("ebpf-misconfigured", f"{form}\n$ kubectl logs calico-node-x2x2x\n{_ON}{_REFUSED}")
        assert "4.15.0-99-generic" in answer.objects, form
        assert "4.15.0-99-generic" in answer.why.zh, form


def test_of_several_kernels_the_one_that_is_too_old() -> None:
    shown = "[root@ibex ~]# uname -r\n4.18.0-348.el8.x86_64\n[root@lynx ~]# uname -r\n4.19.12-1.el7\n"
    answer = finding("ebpf-misconfigured", f"{shown}$ kubectl logs calico-node-x2x2x\n{_ON}{_REFUSED}")
    assert "4.19.12-1.el7" in answer.objects
    assert "4.18.0-348.el8.x86_64" not in answer.objects


def test_a_kernel_is_no_culprit_of_other_faults() -> None:
    answer = finding("ebpf-misconfigured", LOG + FELIX.format("true") + PROXY + "$ uname -r\n4.15.0-99-generic\n")
    assert "4.15.0-99-generic" not in answer.objects


def test_a_reference_to_the_configmap_does_not_make_one() -> None:
    lists = """
        $ kubectl -n kube-system get ds
        NAME          DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR            AGE
        calico-node   1         1         0       1            0           kubernetes.io/os=linux   8m50s
        $ kubectl -n kube-system get cm
        NAME               DATA   AGE
        kube-root-ca.crt   1      9m21s
        $ kubectl -n kube-system get ds calico-node -o yaml | grep -n -A2 configMapRef
        142:        - configMapRef:
        143-            name: kubernetes-services-endpoint
        144-            optional: true
    """
    log = LOG.replace("calico-system", "kube-system")
    assert finding("ebpf-misconfigured", log + "        calico_bpf_enabled: true\n" + lists).strength >= 0.9


def test_kube_proxy_went_and_the_mode_did_not_come() -> None:
    """Felix goes back to iptables on an old kernel; that kube-proxy is off was meant."""
    evidence = """
        $ kubectl -n kube-system get ds kube-proxy
        NAME         DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR                              AGE
        kube-proxy   0         0         0       0            0           kubernetes.io/os=linux,non-calico=true     41d

        $ kubectl -n calico-system logs calico-node-x2rbq | grep -i bpf
        2020-10-10 10:10:10.010 [ERROR][74] felix/daemon.go 337: BPF dataplane mode enabled but not supported by the \
kernel.  Disabling BPF mode.
        root@berry:~# uname -rm
        5.2.0-1010-raspi2 aarch64
        root@berry:~# iptables-save -t nat | grep -c KUBE-SVC
        0
        coredns: Failed to list *v1.Service: Get "https://10.96.0.1:443/api/v1/services?limit=500": dial tcp \
10.96.0.1:443: i/o timeout
"""
    answer = finding("ebpf-misconfigured", evidence)
    assert (answer.state, answer.strength >= 0.95) == ("found", True)
    assert "5.2.0-1010-raspi2" in answer.objects
    assert finding("kube-proxy-down", evidence).state == "ruled-out"


IPVS = """
        2023-03-03 03:03:03.030 [INFO][400] felix/int_dataplane.go 1347: kube-proxy mode changed. Restart felix. \
ipvsIfaceState="down" ipvsSupport=false
        2023-03-03 03:03:03.031 [INFO][400] felix/daemon.go 690: Shutting down... reason=config changed
        $ kubectl -n kube-system get ds kube-proxy
        NAME         DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR     AGE
        kube-proxy   {0}         {0}         {0}       {0}            {0}           non-calico=true   9d
"""


def test_the_link_of_ipvs_stays_behind() -> None:
    answer = finding("ebpf-misconfigured", FELIX.format("true") + IPVS.format(0))
    assert (answer.state, answer.strength >= 0.95) == ("found", True)
    assert "kube-ipvs0" in answer.objects


def test_kube_proxy_that_changes_its_mode_once_is_no_fault() -> None:
    assert finding("ebpf-misconfigured", FELIX.format("false") + IPVS.format(3)).strength < 0.8
    assert finding("ebpf-misconfigured", FELIX.format("true") + IPVS.format(3)).strength < 0.8


PATCH = """
        kubectl patch installation.operator.tigera.io default --type merge -p '{{"spec":{{"calicoNetwork":{{"linuxDataplane":"{}"}}}}}}'
"""
NONE_THERE = """
        $ kubectl get cm -n tigera-operator
        NAME               DATA   AGE
        kube-root-ca.crt   1      211d
        $ kubectl get ds -n kube-system kube-proxy
        NAME         DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR                            AGE
        kube-proxy   0         0         0       0            0           kubernetes.io/os=linux,non-calico=true   211d
"""


def test_the_mode_was_ordered_and_nothing_else_names_it() -> None:
    text = PATCH.format("BPF") + LOG + NONE_THERE
    answer = finding("ebpf-misconfigured", text)
    assert answer.strength >= 0.95
    assert "kubernetes-services-endpoint" in answer.objects
    assert finding("kube-proxy-down", text).state == "ruled-out"


def test_it_was_given_up_again() -> None:
    text = PATCH.format("BPF") + PATCH.format("Iptables") + LOG + NONE_THERE
    assert finding("ebpf-misconfigured", text).state != "found"
    assert finding("kube-proxy-down", text).strength >= 0.9


def test_who_only_looks_for_it_orders_nothing() -> None:
    text = "        $ kubectl get installation default -o yaml | grep -i 'linuxDataplane: BPF'\n" + LOG + NONE_THERE
    assert finding("ebpf-misconfigured", text).state != "found"
