"""TRT0002: manifest and images of two releases."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding


def test_an_unknown_flag() -> None:
    text = """
    $ kubectl -n kube-system logs calico-node-7ttqn -c mount-bpffs
    flag provided but not defined: -best-effort
    Usage of Calico:
      -bird-live
    $ kubectl -n kube-system get ds calico-node -o yaml | grep image:
            image: registry.example/calico/node:v3.20.1
            image: registry.example/calico/cni:v3.20.1
    """
    answer = finding("manifest-image-skew", text)
    assert answer.strength >= 0.9
    assert {"-best-effort", "v3.20.1"} <= set(answer.objects)


def test_a_missing_account() -> None:
    text = (
        "2024-01-01 00:00:00.000 [ERROR][1] cni-installer/install.go 500: Unable to create token for CNI kubeconfig "
        'error=serviceaccounts "calico-cni-plugin" not found'
    )
    answer = finding("manifest-image-skew", text)
    assert answer.strength >= 0.9
    assert "calico-cni-plugin" in answer.objects


def test_mixed_tags_on_a_failing_node() -> None:
    text = """
    $ kubectl -n kube-system get pods -l k8s-app=calico-node
    NAME                READY   STATUS                  RESTARTS   AGE
    calico-node-7ttqn   0/1     Init:CrashLoopBackOff   9          21m
    $ kubectl -n kube-system describe pod calico-node-7ttqn | grep Image:
        Image:         docker.io/calico/cni:v3.19.1
        Image:          docker.io/calico/node:v3.26.4
    """
    assert finding("manifest-image-skew", text).strength >= 0.8


def test_one_release_is_no_fault() -> None:
    text = """
    $ kubectl -n kube-system describe pod calico-node-7ttqn | grep Image:
        Image:         docker.io/calico/cni:v3.26.4
        Image:          docker.io/calico/node:v3.26.4
    """
    assert finding("manifest-image-skew", text).state == "cannot-tell"


def test_the_tag_that_a_command_wrote() -> None:
    text = """
    $ kubectl -n kube-system set image ds/calico-node mount-bpffs=hub.lan/mirror/calico-node:v3.21.4
    $ kubectl -n kube-system logs calico-node-7ttqn -c mount-bpffs
    flag provided but not defined: -best-effort
    """
    assert "v3.21.4" in " ".join(finding("manifest-image-skew", text).objects)


def test_a_flag_that_a_person_gave() -> None:
    asked = "$ kubectl exec -n kube-system calico-node-7qj2c -- calico-node -show-status\nflag provided but not defined: -show-status\n"
    assert finding("manifest-image-skew", asked).state != "found"
    etcd = "$ etcdctl --cacert=/etc/etcd/ca.pem endpoint health\nIncorrect Usage.\n\nflag provided but not defined: -cacert\n"
    assert finding("manifest-image-skew", etcd).state != "found"
    step = (
        "$ kubectl logs -n kube-system calico-node-7qj2c -c mount-bpffs\nflag provided but not defined: -best-effort\n"
    )
    assert finding("manifest-image-skew", step).strength >= 0.9


def test_an_account_that_came_after_its_daemonset() -> None:
    event = '12m  Warning  FailedCreate  daemonset/calico-node  Error creating: pods "calico-node-" is forbidden: error looking up service account kube-system/calico-node: serviceaccount "calico-node" not found\n'
    pods = "$ kubectl get pods -n kube-system | grep calico-node\ncalico-node-7cfmp   1/1   Running   0   12m\n"
    assert finding("manifest-image-skew", event).strength >= 0.9
    assert finding("manifest-image-skew", event + pods).state != "found"


OLD_ROLE = """\
We bumped the calico images from v3.17.2 -> v3.21.5 and nothing else. All calico-node are 0/1 since then.

  Warning  Unhealthy  2m14s (x25 over 9m)   kubelet  Readiness probe failed: calico/node is not ready: felix is not ready: readiness probe reporting 503

2022-04-18 06:41:10.254 [INFO][61] felix/watchercache.go 193: Failed to perform
2022-04-18 06:41:11.274 [INFO][61] felix/watchercache.go 193: Failed to perform

$ kubectl get clusterrole calico-node -o yaml
rules:
- apiGroups: [""]
  resources: [pods, nodes, namespaces]
  verbs: [get]
- apiGroups: [""]
  resources: [endpoints, services]
  verbs: [watch, list, get]
- apiGroups: [crd.projectcalico.org]
  resources: [felixconfigurations, globalnetworkpolicies, hostendpoints, blockaffinities]
  verbs: [get, list, watch]
"""
SLICES = "- apiGroups: [discovery.k8s.io]\n  resources: [endpointslices]\n  verbs: [watch, list]\n"


def test_a_role_of_an_older_release() -> None:
    answer = finding("manifest-image-skew", OLD_ROLE)
    assert (answer.rule, answer.strength >= 0.9) == ("old-role", True)
    assert answer.objects[0] == "endpointslices"


def test_the_same_as_kubectl_describes_it() -> None:
    rows = (
        "$ kubectl describe clusterrole calico-node\nName:         calico-node\nPolicyRule:\n"
        "  Resources                                    Non-Resource URLs  Resource Names  Verbs\n"
        "  ---------                                    -----------------  --------------  -----\n"
        "  endpoints                                    []                 []              [watch list get]\n"
        "  globalnetworkpolicies.crd.projectcalico.org  []                 []              [get list watch]\n"
    )
    assert finding("manifest-image-skew", OLD_ROLE.partition("$ ")[0] + rows).rule == "old-role"


def test_roles_that_fit_or_do_not_show_it() -> None:
    older = OLD_ROLE.replace("v3.17.2 -> v3.21.5", "v3.17.2 -> v3.19.4")
    whole = OLD_ROLE.replace("- apiGroups: [crd", SLICES + "- apiGroups: [crd")
    cut = OLD_ROLE.partition("- apiGroups: [crd")[0]
    searched = OLD_ROLE.replace("-o yaml", "-o yaml | grep -A2 resources")
    everything = OLD_ROLE.replace("[pods, nodes, namespaces]", "['*']")
    another = OLD_ROLE.replace("clusterrole calico-node", "clusterrole calico-kube-controllers")
    for text in (older, whole, cut, searched, everything, another):
        assert finding("manifest-image-skew", text).state != "found"


def test_nobody_suffers_from_the_role() -> None:
    pods = "$ kubectl -n kube-system get pods\nNAME   READY   STATUS   RESTARTS   AGE\ncalico-node-7ttqn   1/1   Running   0   9d\n"
    assert finding("manifest-image-skew", OLD_ROLE + pods).state != "found"


def test_a_refusal_that_is_shown_says_more() -> None:
    said = (
        'endpointslices.discovery.k8s.io is forbidden: User "system:serviceaccount:kube-system:calico-node" cannot list '
        'resource "endpointslices" in API group "discovery.k8s.io" at the cluster scope'
    )
    assert finding("manifest-image-skew", f"{OLD_ROLE}\n$ kubectl logs calico-node-7ttqn\n{said}\n").rule != "old-role"
    assert finding("rbac-forbidden", f"{OLD_ROLE}\n$ kubectl logs calico-node-7ttqn\n{said}\n").strength >= 0.9


def test_waiting_alone_is_weaker_than_a_list_that_fails() -> None:
    waiting = "felix/health.go 155: Reporter is not ready."
    text = OLD_ROLE.replace("felix/watchercache.go 193: Failed to perform", waiting)
    assert 0.8 <= finding("manifest-image-skew", text).strength < 0.9
