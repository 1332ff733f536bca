"""The lines of kubelet's journal that people search for, in the words of the release that the node shows."""

from __future__ import annotations

from typing import Final

from tortie.lab.kubelet.journal import Klog, quoted, structured
from tortie.lab.kubelet.lifecycle import Kill
from tortie.lab.kubelet.objects import Object, go_duration, pod_text

STRUCTURED_SINCE: Final = 21
SWAP_ON: Final = (
    "failed to run Kubelet: running with swap on is not supported, please disable swap! or set --fail-swap-on flag "
    "to false. /proc/swaps contained: [{swaps}]"
)


class Telling:
    def __init__(self, log: Klog, minor: int) -> None:
        self._log = log
        self._structured = minor >= STRUCTURED_SINCE

    def begins(self, version: str, node: str) -> None:
        self._log.info("server.go:446", structured("Kubelet version", kubeletVersion=version))
        self._log.info("kubelet_node_status.go:70", structured("Attempting to register node", node=node))
        self._log.info("kubelet_node_status.go:73", structured("Successfully registered node", node=node))

    def ends(self) -> None:
        self._log.info("dynamic_cafile_content.go:171", structured("Shutting down controller", name="client-ca-bundle"))

    def loop(self, what: str, source: str, pod: Object) -> None:
        """`what`: ADD, DELETE, REMOVE."""
        if self._structured:
            self._log.info("kubelet.go:2069", structured(f"SyncLoop {what}", source=source, pods=[short(pod)]))
        else:
            self._log.info("kubelet.go:1904", f'SyncLoop ({what}, "{source}"): "{pod_text(pod)}"')

    def bad_manifest(self, path: str, why: str) -> None:
        if self._structured:
            self._log.error("file.go:187", structured("Could not process manifest file", err=why, path=path))
        else:
            self._log.error("file.go:187", f"Can't process manifest file {quoted(path)}: {why}")

    def lived(self, kind: str, pod: Object, container_id: str) -> None:
        """`kind`: ContainerStarted, ContainerDied."""
        uid = pod["metadata"]["uid"]
        event = f'{{"ID":"{uid}","Type":"{kind}","Data":"{container_id}"}}'
        self._log.info("kubelet.go:2101", f'"SyncLoop (PLEG): event for pod" pod="{short(pod)}" event={event}')

    def kills(self, pod: Object, kill: Kill) -> None:
        grace = f"{kill.grace_s:g}"
        if self._structured:
            text = structured(
                "Killing container with a grace period",
                pod=short(pod),
                podUID=pod["metadata"]["uid"],
                containerName=kill.container,
                containerID=kill.container_id,
                gracePeriod=kill.grace_s if kill.grace_s % 1 else int(kill.grace_s),
            )
            if kill.why != "deleted":
                text = text.replace("with a grace period", "with a grace period override", 1)
            self._log.info("kuberuntime_container.go:660", text)
        else:
            named = f'"{kill.container_id}" with a grace period override of {grace} seconds'
            self._log.info("kuberuntime_container.go:600", f"Killing container {named}")

    def probe(self, kind: str, pod: Object, container: str, outcome: str, output: str) -> None:
        what = kind.capitalize()
        if self._structured:
            name = "Probe errored" if outcome == "error" else "Probe failed"
            last = {"err": output} if outcome == "error" else {"probeResult": outcome, "output": output}
            values = {"probeType": what, "pod": short(pod), "podUID": pod["metadata"]["uid"]}
            text = structured(name, **values, containerName=container, **last)
        else:
            result = "errored" if outcome == "error" else f"failed ({outcome})"
            text = f'{what} probe for "{pod_text(pod)}:{container}" {result}: {output}'
        (self._log.error if outcome == "error" else self._log.info)("prober.go:116", text)

    def cannot_start(self, pod: Object, container: str, reason: str, message: str) -> None:
        """`CrashLoopBackOff: "back-off 10s restarting failed container=…"`"""
        why = f'failed to "StartContainer" for "{container}" with {reason}: {quoted(message)}'
        if self._structured:
            text = structured("Error syncing pod, skipping", err=why, pod=short(pod), podUID=pod["metadata"]["uid"])
        else:
            uid = pod["metadata"]["uid"]
            text = f'Error syncing pod {uid} ("{pod_text(pod)}"), skipping: {why}'
        self._log.error("pod_workers.go:191", text)

    def skips(self, pleg_age_s: float | None, threshold_s: float) -> None:
        """Because the runtime does not answer."""
        why = "PLEG is not healthy: pleg has yet to be successful"
        if pleg_age_s is not None:
            age, limit = go_duration(round(pleg_age_s, 6)), go_duration(threshold_s)
            why = f"PLEG is not healthy: pleg was last seen active {age} ago; threshold is {limit}"
        if self._structured:
            self._log.error("kubelet.go:2376", structured("Skipping pod synchronization", err=why))
        else:
            self._log.info("kubelet.go:1845", f"skipping pod synchronization - {why}")

    def runtime(self, failure: str) -> None:
        if self._structured:
            listing = "ListPodSandbox with filter from runtime service failed"
            self._log.error("remote_runtime.go:277", structured(listing, err=failure, filter="nil"))
            self._log.error("generic.go:205", structured("GenericPLEG: Unable to retrieve pods", err=failure))
        else:
            self._log.error(
                "remote_runtime.go:182", f"ListPodSandbox with filter nil from runtime service failed: {failure}"
            )
            self._log.error("generic.go:197", f"GenericPLEG: Unable to retrieve pods: {failure}")

    def node(self, kind: str, node: str) -> None:
        """`kind`: NodeReady, NodeNotReady."""
        self._log.info(
            "kubelet_node_status.go:554", structured("Recording event message for node", node=node, event=kind)
        )


def short(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
