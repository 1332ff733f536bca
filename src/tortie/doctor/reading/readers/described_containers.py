"""Containers of a described pod or workload, also where only some of their lines are left."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Container, Fact, Probe, Setting
from tortie.doctor.reading.readers.described import FIELD, Described
from tortie.doctor.reading.readers.times import age_s, epoch

_NAME: Final = lazily(r"\s{1,8}([a-z0-9][a-z0-9.-]*):\s*$")
_BEGIN: Final = ("Container ID", "Image", "State", "Port", "Host Port", "Command", "Ports", "Restart Count",
                 "Last State", "Ready", "Image ID", "Limits", "Requests")  # fmt: skip
_NOT_HERE: Final = ("Conditions", "Volumes", "Events", "Tolerations", "QoS Class", "Node-Selectors", "System Info",
                    "Capacity", "Allocatable", "Allocated resources", "Non-terminated Pods", "Addresses")  # fmt: skip
_STATES: Final = ("State", "Last State")
_OF_STATE: Final = ("Reason", "Message", "Exit Code", "Started", "Finished", "Signal")
_PROBES: Final = ("Liveness", "Readiness", "Startup")
_BLOCKS: Final = ("Limits", "Requests", "Command", "Args", "Environment", "Mounts", "Environment Variables from")
_PROBE: Final = lazily(
    r"(?P<action>\S.*?)?\s*delay=(?P<delay>\S{1,40})\s+timeout=(?P<timeout>\S{1,40})\s+period=(?P<period>\S{1,40})\s+"
    r"#success=(?P<success>\d+)\s+#failure=(?P<failure>\d+)"
)


class _Draft:
    """A container while its lines are read."""

    def __init__(self, name: str, init: bool, first: int) -> None:
        self.name, self.init, self.first, self.last = name, init, first, first
        self.said: dict[str, str] = {}
        self.states: dict[str, dict[str, str]] = {}
        self.pairs: dict[str, list[tuple[str, str, int]]] = {}
        self.plain: dict[str, list[str]] = {}

    @property
    def known(self) -> bool:
        return bool(self.states or self.pairs or {"Image", "Ready", "Restart Count", "Container ID"} & self.said.keys())


class Containers:
    def __init__(self, described: Described) -> None:
        self.described = described
        self.drafts: list[_Draft] = []
        self.probes: list[Probe] = []
        self._read()

    def _read(self) -> None:
        lines = self.described.exhibit.lines
        draft: _Draft | None = None
        init, state, block, depth = False, "", "", 0
        skip = False  # inside of conditions, volumes, events: no containers there
        for index in range(self.described.start, self.described.stop):
            line = lines[index]
            match = FIELD.match(line)
            if line.rstrip() in ("Containers:", "  Containers:", "Init Containers:", "  Init Containers:"):
                init, draft, skip, block = "Init" in line, None, False, ""
                continue
            if line[:1].strip() and match and match[2] not in _BEGIN:
                skip, draft, block = match[2] in _NOT_HERE, None, ""
            if skip and match and match[2] in _PROBES:
                self._probe(match[2], match[3] or "", index, None)  # grepped, and pasted below a table of events
            if skip or not line.strip():
                continue
            if (name := _NAME.match(line)) and self._begins(index, block, depth, line):
                draft = self._new(name[1], init, index)
                state, block = "", ""
                continue
            indent = len(line) - len(line.lstrip())
            if block and indent <= depth:
                block = ""
            if block and draft:
                self._block_line(draft, block, line, index)
                continue
            if not match:
                continue
            key, value = match[2], match[3] or ""
            if key in _PROBES:
                self._probe(key, value, index, draft)
                continue
            if draft is None or (key in draft.said and key in ("Image", "Container ID", "Restart Count")):
                if key not in _BEGIN or (key in ("Ready", "Port") and not match[1]):
                    continue
                draft, state = self._new("", init, index), ""
            if key in _BLOCKS:
                block, depth, state = key, indent, ""
            else:
                state = _tell(draft, key, value, state)
            draft.last = index

    def _begins(self, index: int, block: str, depth: int, line: str) -> bool:
        """Whether `name:` alone on a line names a container: one of a container's fields follows at once."""
        indent = len(line) - len(line.lstrip())
        if block and indent > depth:
            return False
        for after in self.described.exhibit.lines[index + 1 : index + 3]:
            match = FIELD.match(after)
            if match and match[2] in _BEGIN and len(match[1]) > indent:
                return True
        return False

    def _new(self, name: str, init: bool, index: int) -> _Draft:
        draft = _Draft(name, init, index)
        self.drafts.append(draft)
        return draft

    def _block_line(self, draft: _Draft, block: str, line: str, index: int) -> None:
        draft.last = index
        text = line.strip()
        if block in ("Limits", "Requests", "Environment"):
            key, colon, value = text.partition(":")
            if colon:
                draft.pairs.setdefault(block, []).append((key, value.strip(), index))
        else:
            draft.plain.setdefault(block, []).append(text)

    def _probe(self, key: str, value: str, index: int, draft: _Draft | None) -> None:
        if draft:
            draft.last = index
        match = _PROBE.match(value)
        if match:
            action = (match["action"] or "").strip()
            probe = Probe(
                self.described.exhibit.place(index), key.lower(), _action(action), age_s(match["delay"]) or 0.0,
                age_s(match["timeout"]) or 1.0, age_s(match["period"]) or 10.0, int(match["success"]),
                int(match["failure"]), self.described.name, draft.name if draft else "",
            )  # fmt: skip
            self.probes.append(probe)

    def facts(self) -> Iterator[Fact]:
        place = self.described.exhibit.place
        for draft in self.drafts:
            if draft.known:
                yield self._container(draft)
            for name, value, index in draft.pairs.get("Environment", []):
                if re.match(r"[A-Za-z_][\w.]*$", name):
                    yield Setting(place(index), "env", name, value, draft.name)
        yield from self.probes

    def _container(self, draft: _Draft) -> Container:
        now, before = draft.states.get("State", {}), draft.states.get("Last State", {})
        ready = draft.said.get("Ready", "")
        return Container(
            self.described.exhibit.place(draft.first, draft.last + 1), self.described.name, draft.name, draft.init,
            draft.said.get("Image", ""), now.get("", ""), now.get("Reason", ""), now.get("Message", ""),
            epoch(now.get("Started", "")), _number(now.get("Exit Code")), before.get("", ""), before.get("Reason", ""),
            _number(before.get("Exit Code")), epoch(before.get("Started", "")), epoch(before.get("Finished", "")),
            ready == "True" if ready else None, _number(draft.said.get("Restart Count")), self._two(draft, "Limits"),
            self._two(draft, "Requests"), " ".join(draft.plain.get("Command", []) + draft.plain.get("Args", [])),
            tuple(mount.split(" from ")[0] for mount in draft.plain.get("Mounts", [])),
        )  # fmt: skip

    def _two(self, draft: _Draft, block: str) -> tuple[tuple[str, str], ...]:
        return tuple((key, value) for key, value, _ in draft.pairs.get(block, []))

    # What `get pods` would show

    def ready(self) -> tuple[int | None, int | None]:
        main = [draft for draft in self.drafts if not draft.init and draft.name]
        said = [draft.said["Ready"] for draft in main if "Ready" in draft.said]
        return (said.count("True"), len(main)) if said and len(said) == len(main) else (None, None)

    def restarts(self) -> int | None:
        counts = [_number(draft.said.get("Restart Count")) for draft in self.drafts if not draft.init]
        return sum(count for count in counts if count is not None) if any(c is not None for c in counts) else None

    def status(self, phase: str) -> str:
        """The status column that kubectl makes of phase and container states."""
        phase = phase.split(" ")[0]
        inits = [draft for draft in self.drafts if draft.init and draft.states]
        for done, draft in enumerate(inits):
            now = draft.states.get("State", {})
            if now.get("") == "Terminated" and now.get("Exit Code", "0") == "0":
                continue
            reason = now.get("Reason", "")
            if reason and reason not in ("PodInitializing", "Completed"):
                return f"Init:{reason}"
            return f"Init:{done}/{len(inits)}" if phase != "Failed" else phase
        for draft in self.drafts:
            now = draft.states.get("State", {})
            if not draft.init and now.get("") in ("Waiting", "Terminated") and now.get("Reason"):
                return now["Reason"]
        return phase


def _action(text: str) -> str:
    """The command line of `exec [...]`, the URL of `http-get ...`."""
    return re.sub(r"^exec \[(.*)\]$", r"\1", text).removeprefix("http-get ")


def _number(text: str | None) -> int | None:
    return int(text) if text and text.lstrip("-").isdecimal() else None


def _tell(draft: _Draft, key: str, value: str, state: str) -> str:
    """A field of the container or of one of its states; returns the state whose fields may follow."""
    if key in _STATES:
        draft.states[key] = {"": value}
        return key
    if state and key in _OF_STATE:
        draft.states[state][key] = value
        return state
    draft.said[key] = value
    return "" if key in ("Ready", "Restart Count") else state
