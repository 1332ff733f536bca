"""What is abnormal on rows of pods, containers and workloads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from tortie.doctor.diagnosis import Symptom
from tortie.doctor.judgement.standing import Standing, live, ready
from tortie.doctor.picture.facts import Container, Pod, Workload
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.words import Words

ELSEWHERE = "elsewhere"  # seen, and no business of the network
_SYSTEM = ("kube-system", "calico-system", "calico-apiserver", "tigera-operator")
_MANY, _A_DAY = 10, 3.0  # restarts that are more than history
_LATELY_S, _A_DAY_STILL = 3600.0, 0.5  # fewer are enough where the last one was just now
_OFTEN = 3  # times to be killed for memory: it grows again
_FILTERS = ("grep", "field-selector", "head", "tail", "awk", "sed")
_PULL = ("ImagePullBackOff", "ErrImagePull", "InvalidImageName")


def pod_symptoms(picture: Picture, standing: Standing) -> Iterator[Symptom]:
    yield from _pods(picture, standing)
    yield from _workloads(picture)
    yield from _restless(picture)
    yield from _restarted(picture)
    yield from _uncovered(picture)


def kind_of(pod: Pod) -> str:
    """What a pod's row complains about; empty when it does not."""
    status = pod.status
    if any(word in status for word in _PULL):
        return "image-pull"
    if status.startswith("Init:"):
        return "init-crash" if "Error" in status or "CrashLoop" in status else "init-stuck"
    if "CrashLoopBackOff" in status or status in ("Error", "RunContainerError", "OOMKilled"):
        return "crash-loop"
    if status == "Evicted":
        return "evicted"
    if status == "Terminating":
        return "terminating-stuck"
    if status == "Pending":
        return "pod-pending"
    if status == "ContainerCreating":
        return "sandbox-failed"
    if status == "Running" and pod.ready is not None and not pod.all_ready:
        return "not-ready"
    return ""


def _pods(picture: Picture, standing: Standing) -> Iterator[Symptom]:
    by_kind: dict[tuple[str, bool], list[Pod]] = {}
    for pod in live(picture.pods_now()):
        kind = trouble_of(pod, standing)
        if kind:
            by_kind.setdefault((kind, is_agent(pod.name)), []).append(pod)
    for (kind, _), pods in sorted(by_kind.items(), key=lambda item: not item[0][1]):
        names = ", ".join(pod.name for pod in pods[:4]) + (" …" if len(pods) > 4 else "")
        state = pods[0].status + (f" {pods[0].ready}/{pods[0].containers}" if pods[0].containers is not None else "")
        text = Words(f"{names}: {state}", f"{names}：{state}")
        yield Symptom(kind, text, few(pods), tuple(pod.name for pod in pods))


def trouble_of(pod: Pod, standing: Standing) -> str:
    """The same, by whose pod it is: trouble of an application may have nothing to do with its network.

    An application that ends by itself while all that was shown of the network is well is one of those.
    """
    kind = kind_of(pod)
    if is_agent(pod.name) or not kind:
        return kind
    applications = ("pod-pending", "image-pull", "evicted", *(("crash-loop",) if standing.well else ()))
    if pod.namespace and pod.namespace not in _SYSTEM and kind in applications:
        return ELSEWHERE
    if kind in ("crash-loop", "not-ready"):
        return "controllers-failing" if "calico" in pod.name else "others-failing"
    return kind


def _workloads(picture: Picture) -> Iterator[Symptom]:
    for workload in picture.of(Workload):
        current, desired = workload.current, workload.desired
        if is_agent(workload.name) and desired is not None and workload.ready is not None and workload.ready < desired:
            ready_ones = f"{workload.ready}/{desired}"
            text = Words(f"{workload.name}: {ready_ones} ready", f"{workload.name}：{ready_ones} 就绪")
            yield Symptom("not-ready", text, (workload.place,), (workload.name,))
        if is_agent(workload.name) and current is not None and desired is not None and current < desired:
            short = f"{current}/{desired}"
            text = Words(f"{workload.name}: {short} pods exist", f"{workload.name}：只有 {short} 个 Pod")
            yield Symptom("pod-not-created", text, (workload.place,), (workload.name,))


def _restless(picture: Picture) -> Iterator[Symptom]:
    """Agents that are ready at this moment, and are restarted all the time."""
    for pod in live(picture.agents_now()):
        count, age_s = pod.restarts or 0, pod.age_s or 0.0
        most = _A_DAY_STILL if _restarted_lately(pod) else _A_DAY
        if ready(pod) and age_s and count >= _MANY and count / age_s * 86_400 > most:
            text = Words(f"{pod.name}: {count} restarts", f"{pod.name}：重启 {count} 次")
            yield Symptom("restarts", text, (pod.place,), (pod.name, pod.node))


def _restarted_lately(pod: Pod) -> bool:
    return pod.restarted_s is not None and pod.restarted_s < _LATELY_S


def _killed_lately(container: Container, picture: Picture) -> bool:
    """By its pod's row, or where that is not named, by those of the agents."""
    pods = [
        pod for pod in picture.pods_now() if pod.name == container.pod or (not container.pod and is_agent(pod.name))
    ]
    return any(_restarted_lately(pod) for pod in pods)


def _restarted(picture: Picture) -> Iterator[Symptom]:
    """Agents whose restarts grow from one table to the next, however ready they are in each."""
    before: dict[str, int] = {}
    grown: dict[str, tuple[Pod, int]] = {}
    for pod in picture.agents():
        if pod.restarts is not None:
            least = before.setdefault(pod.name, pod.restarts)
            if pod.restarts > least:
                grown[pod.name] = (pod, least)
    for pod, least in grown.values():
        text = Words(f"{pod.name}: {least} → {pod.restarts} restarts", f"{pod.name}：重启次数 {least} → {pod.restarts}")
        yield Symptom("restarts", text, (pod.place,), (pod.name, pod.node))


def _uncovered(picture: Picture) -> Iterator[Symptom]:
    """Ready nodes on which a whole list of agents has none."""
    agents = [pod for pod in picture.agents_now() if pod.node]
    sources = {pod.place.source for pod in agents}
    filtered = any(
        place.source == exhibit.source and exhibit.number(0) <= place.first <= exhibit.number(0) + len(exhibit.lines)
        for exhibit in picture.exhibits
        if exhibit.source in sources and any(word in exhibit.command for word in _FILTERS)
        for place in (pod.place for pod in agents)
    )
    nodes = [node for node in picture.nodes_now().values() if node.status == "Ready"]
    if len(agents) < 2 or filtered or len(nodes) <= len(agents):
        return
    served = {pod.node for pod in agents}
    missing = [node for node in nodes if node.name not in served]
    if missing and len(missing) < len(nodes) / 2:
        names = ", ".join(node.name for node in missing[:4])
        text = Words(f"no agent is shown on {names}", f"{names} 上没有 calico-node")
        yield Symptom("pod-not-created", text, few(missing), tuple(node.name for node in missing))


def elsewhere(picture: Picture, standing: Standing) -> set[str]:
    """Names of pods whose trouble is their own."""
    return {pod.name for pod in live(picture.pods_now()) if trouble_of(pod, standing) == ELSEWHERE}


def containers(picture: Picture, standing: Standing) -> Iterator[Symptom]:
    others = elsewhere(picture, standing)
    for container in picture.of(Container):
        if container.pod in others:
            continue
        if (container.last_reason and container.last_reason != "Completed") or container.reason == "CrashLoopBackOff":
            told = container.last_reason or container.reason
            code = f" ({container.last_exit_code})" if container.last_exit_code is not None else ""
            text = Words(f"{container.name} ended before: {told}{code}", f"{container.name} 上次退出：{told}{code}")
            kind = "crash-loop" if container.reason == "CrashLoopBackOff" else "restarts"
            # Whoever grew beyond its memory so often is ready until the next time.
            grown = container.last_reason == "OOMKilled"
            again = grown and ((container.restarts or 0) >= _OFTEN or _killed_lately(container, picture))
            who = (container.pod, container.name)
            yield Symptom(kind, text, (container.place,), who, current=again or not container.ready)
        elif container.init and container.state == "Running" and not container.ready:
            text = Words(f"init container {container.name} is still running", f"init 容器 {container.name} 仍在运行")
            yield Symptom("init-stuck", text, (container.place,), (container.pod, container.name))


class _Placed(Protocol):
    @property
    def place(self) -> Place: ...


def few(facts: Sequence[_Placed]) -> tuple[Place, ...]:
    return tuple(fact.place for fact in facts[:3])
