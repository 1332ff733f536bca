"""A lab that is broken, looked at, judged by the doctor and healed; all of it by the command line.

with Patient(tmp_path, "p") as lab:
    lab.up("--nodes", "2", "--classic", "3.20", "--hurry", "10")
    lab.breaks("docker-bridge", "--node", "node-2")
    answer = lab.until_found("autodetect-wrong-interface")
    lab.heals()
"""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from tests.support.cli import COMMAND, Ran
from tests.support.lab import Lab

from tortie.lab.traces import cgroup_name

PATIENCE_S: Final = 120.0  # of whoever waits for a symptom, an answer or the end of it
_PAUSE_S: Final = 0.5
_BETWEEN_ANSWERS_S: Final = 3.0  # a doctor who asks all the time makes the nodes busy
_POD: Final = re.compile(r"\{pod ([\w-]+)\}")


class Patient(Lab):
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        super().__exit__(kind, error, at)
        if error is None:
            self.assert_gone()

    def assert_gone(self) -> None:
        """No folder, no process, no mount, no group of processes."""
        super().assert_gone()
        assert str(self.folder) not in Path("/proc/self/mounts").read_text()
        groups = [str(path) for path in Path("/sys/fs/cgroup").glob(f"**/{cgroup_name(str(self.folder))}")]
        assert groups == [], groups

    # Looking

    def shell(self, node: str, command: str) -> Ran:
        """What somebody types who is logged in there. `{pod node-1}`: the calico-node pod of that node."""
        return self("exec", node, "--", "bash", "-c", self.filled(command))

    def kubectl(self, words: str) -> Ran:
        return self("kubectl", *self.filled(words).split())

    def filled(self, text: str) -> str:
        return _POD.sub(lambda found: self.pod(found[1])["metadata"]["name"], text)

    def pods(self) -> list[Any]:
        """All calico-node pods of nodes that are in the lab, as the kubelets have noted them."""
        found = []
        for file in sorted(self.folder.glob("nodes/*/var/lib/kubelet/objects.json")):
            try:
                things = json.loads(file.read_text())["items"]
            except (OSError, ValueError):
                continue
            found += [each for each in things if each["kind"] == "Pod" and _is_agent(each)]
        return found

    def pod(self, node: str) -> Any:
        """The one that is there to stay."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            there = [pod for pod in self.pods() if pod["spec"].get("nodeName") == node]
            staying = [pod for pod in there if not pod["metadata"].get("deletionTimestamp")]
            if staying:
                return staying[-1]
            assert time.monotonic() < deadline, f"no calico-node pod on {node}: {there}"
            time.sleep(_PAUSE_S)

    def all_ready(self) -> bool:
        """Every node has one pod, and it is 1/1 Running."""
        pods = self.pods()
        nodes = len(list(self.folder.glob("nodes/*/var/lib/kubelet/objects.json")))
        return len(pods) == nodes and all(_is_ready(pod) for pod in pods)

    def restarts(self, node: str) -> int:
        return sum(int(each["restartCount"]) for each in self.pod(node)["status"]["containerStatuses"])

    def until_ready(self) -> None:
        self.until("every calico-node pod is 1/1", self.all_ready)

    def until(self, what: str, is_so: Any) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not is_so():
            assert time.monotonic() < deadline, f"not within {PATIENCE_S:.0f} s: {what}\n{self.picture()}"
            time.sleep(_PAUSE_S)

    def until_shown(self, ask: Any, text: str, regex: str = "") -> str:
        """Asked again and again until the answer holds the text; all white space counts as one blank."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            ran: Ran = ask()
            said = ran.stdout + ran.stderr
            if (not text or " ".join(text.split()) in " ".join(said.split())) and (
                not regex or re.search(regex, said, re.MULTILINE)
            ):
                return said
            assert time.monotonic() < deadline, f"not shown: {text or regex}\n{said}\n{self.picture()}"
            time.sleep(_PAUSE_S)

    def picture(self) -> str:
        """For whoever reads why a test failed."""
        pods = self("kubectl", "get", "pods", "-A", "-o", "wide")
        nodes = self("kubectl", "get", "nodes", "-o", "wide")
        return f"{pods.stdout}{pods.stderr}\n{nodes.stdout}{nodes.stderr}\n{self.logs()}"

    # Breaking and healing

    def breaks(self, *words: str) -> Any:
        ran = self("break", *words, "-o", "json")
        assert ran.code == 0, (ran, self.logs())
        return ran.json

    def heals(self) -> None:
        ran = self("heal")
        assert ran.code == 0, (ran, self.logs())
        assert not (self.folder / "faults.json").exists()

    # The doctor

    def doctor(self) -> Ran:
        words = [str(COMMAND), "doctor", "--lab", "--name", self.name, "-o", "json"]
        return self._run([*self._before, *words], "", {})

    def until_found(self, *causes: str) -> Any:
        """The doctor's answer once it names these causes, each for itself, and no other."""
        return self._until_said(lambda answer: sorted(named(answer)) == sorted(causes), (3,), ", ".join(causes))

    def until_told(self, *causes: str) -> Any:
        """The same, where some of them hurt nobody yet: the doctor tells those beside the others."""

        def is_so(answer: Any) -> bool:
            beside = [each["cause"] for each in answer["unrelated"]]
            return sorted([*named(answer), *beside]) == sorted(causes)

        return self._until_said(is_so, (3,), ", ".join(causes))

    def until_healthy(self) -> Any:
        """With 4 there is something worth fixing: an etcd that was slow a moment ago, for one."""
        return self._until_said(lambda answer: bool(answer["verdict"] == "healthy"), (0, 4), "healthy")

    def _until_said(self, is_so: Any, codes: tuple[int, ...], wanted: str) -> Any:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            ran = self.doctor()
            assert ran.stdout, (ran, self.logs())
            if is_so(ran.json):
                assert ran.code in codes, ran
                return ran.json
            if time.monotonic() > deadline:
                kept = self._keep_evidence()
                raise AssertionError(f"the doctor never said: {wanted}\n{told(ran.json)}\n{self.picture()}\n{kept}")
            time.sleep(_BETWEEN_ANSWERS_S)

    def _keep_evidence(self) -> str:
        folder = self.labs / f"evidence-{self.name}-{time.time_ns()}"
        ran = self("evidence", "-o", str(folder))
        return f"evidence is in {folder}" if ran.code == 0 else str(ran)


def named(answer: Any) -> list[str]:
    """What is claimed; without a verdict causes are only candidates."""
    return [cause["cause"] for cause in answer["causes"]] if answer["verdict"] == "cause-found" else []


def told(answer: Any) -> str:
    shown = {"verdict": answer["verdict"], "unrelated": answer["unrelated"], "next": answer["next"]}
    shown["causes"] = [
        {key: cause[key] for key in ("cause", "confidence", "objects", "summary")} for cause in answer["causes"]
    ]
    shown["symptoms"] = [f"{each['class']}: {each['text']}" for each in answer["symptoms"]]
    return json.dumps(shown, indent=1, ensure_ascii=False)


def _is_agent(pod: Any) -> bool:
    return bool(pod["metadata"].get("labels", {}).get("k8s-app") == "calico-node")


def _is_ready(pod: Any) -> bool:
    statuses = pod.get("status", {}).get("containerStatuses", [])
    gone = bool(pod["metadata"].get("deletionTimestamp"))
    return bool(statuses) and not gone and all(each["ready"] for each in statuses)


def workers() -> int:
    """Labs wait most of the time: more than there are cores, but not so many that their nodes starve."""
    return max(2, (os.cpu_count() or 2) + 1)
