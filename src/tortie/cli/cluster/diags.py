"""`tortie cluster diags`: the bundle of a cluster, gathered side by side, every question with a deadline."""

from __future__ import annotations

import getpass
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from tortie.cli.bundle import Bundle
from tortie.cli.cluster import datastore, questions
from tortie.cli.cluster.pods import chosen, pods_of
from tortie.cli.cluster.questions import ANSWER_MAX, Pod, Question
from tortie.cli.settings import SETTINGS, Settings, read_settings
from tortie.doctor.reading.redaction import redacted
from tortie.host.kubectl import Answer, Kubectl, find_kubectl
from tortie.model.errors import TortieError, UsageError

_SINCE: Final = re.compile(r"[0-9]+[smh]")
_ANSWER_S: Final = 30.0
_DEADLINE_S: Final = 900.0
_ALL_OF_KUBERNETES: Final = "everything of Kubernetes, pods, logs and events"
_EXAMPLE: Final = "tortie cluster diags --since 1h --max-logs 5"

T = TypeVar("T")
R = TypeVar("R")


def diags(
    *,
    since: str | None,
    max_logs: str,
    max_parallelism: str,
    focus_nodes: str | None,
    skip_temp_dir_cleanup: bool,
    kube_context: str | None,
    **flags: Any,
) -> int:
    if since and not _SINCE.fullmatch(since):
        what = f"invalid duration for since flag (try 10s, 5m, or 1h): {since}"
        raise UsageError(what, "--since takes one number and s, m or h", _EXAMPLE)
    logs, parallel = _number("--max-logs", max_logs, 0), _number("--max-parallelism", max_parallelism, 1)
    focus = [name for name in (focus_nodes or "").split(",") if name]
    with Bundle("calico-diagnostics", into=".", keep=skip_temp_dir_cleanup) as bundle:
        sys.stderr.write(f"==== Begin collecting diagnostics. ====\nCreated temporary directory: {bundle.work}\n")
        gathering = Gathering(bundle, parallel)
        gathering.datastore(flags)
        gathering.kubernetes(Kubectl(find_kubectl() or "", context=kube_context or ""), focus, logs, since or "")
        if not gathering.gathered:
            why = "\n".join(f"{what}: {why}" for what, why in gathering.missing)
            raise TortieError("nothing was collected", why, "see each line")
        # Only what: a reason in there would be read as evidence of the cluster.
        bundle.say(by="tortie cluster diags", missing=[what for what, _ in gathering.missing])
        sys.stderr.write("==== Producing a diagnostics bundle. ====\n")
        archive = bundle.pack()
    for what, why in gathering.missing:
        sys.stderr.write(f"missing: {what}: {why}\n")
    sys.stdout.write(f"Diagnostic bundle created at {archive}\n")
    sys.stderr.write(f"secrets are masked; `tortie doctor {archive}` reads it\n")
    return 0


def _number(flag: str, text: str, least: int) -> int:
    if not text.isdigit() or int(text) < least:
        negative = "negative value for max-logs flag" if flag == "--max-logs" and text.startswith("-") else ""
        raise UsageError(negative or f"{flag} is no number: {text}", f"a number from {least} on is wanted", _EXAMPLE)
    return int(text)


class Gathering:
    """What was gathered, and what could not be."""

    def __init__(self, bundle: Bundle, parallel: int) -> None:
        self.missing: list[tuple[str, str]] = []  # what, and why
        self.gathered = 0
        self._bundle = bundle
        self._parallel = parallel
        self._end = time.monotonic() + _DEADLINE_S
        self._prompt = f"[{_user()}@{os.uname().nodename} ~]#"

    def datastore(self, flags: dict[str, Any]) -> None:
        """Everything that stands there, then what our own commands make of it."""
        _progress("the datastore")
        try:
            settings = _settings(flags)
            entries = datastore.read_all(settings)
        except TortieError as error:
            self.missing.append(("the datastore", str(error)))
            return
        if not entries:
            self.missing.append(("the datastore", "it is empty; `tortie config show` says which one it is"))
            return
        for path, text in datastore.files_of(entries):
            self._write(path, text)
        words = _as_flags(settings, flags)
        texts = self._all(lambda each: datastore.said(each[1], words), datastore.COMMANDS)
        for (part, command), text in zip(datastore.COMMANDS, texts, strict=True):
            self._answer(part, f"tortie {' '.join(command)}", text)

    def kubernetes(self, kubectl: Kubectl, focus: Sequence[str], logs: int, since: str) -> None:
        if find_kubectl() is None:
            self.missing.append((_ALL_OF_KUBERNETES, "unable to locate kubectl in PATH"))
            return
        _progress("Kubernetes")
        pods = kubectl.ask("get", "pods", "-A", "-o", "json", "--request-timeout=15s")
        if pods.code:
            self.missing.append((_ALL_OF_KUBERNETES, pods.why))
            return
        self._ask(kubectl, questions.of_cluster())
        found = chosen(pods_of(pods.out), focus, logs)
        if not found:
            self.missing.append(("logs", "there is no pod of Calico's, or none is wanted"))
        for pod in found:
            _progress(f"pod {pod.name} in namespace {pod.namespace} on node {pod.node}")
            self._ask(kubectl, questions.of_pod(pod, since))
            if pod.is_agent:
                self._agent(kubectl, pod)
        _progress("resources of Kubernetes")
        names = questions.names_of(kubectl.ask("api-resources", "-o", "name", timeout_s=_ANSWER_S).out)
        short = {name.partition(".")[0] for name in names}
        self._ask(kubectl, questions.of_kinds({*names, *short}, filter(questions.is_calicos, names)))

    def _agent(self, kubectl: Kubectl, pod: Pod) -> None:
        answers = self._ask(kubectl, questions.of_agent(pod))
        if any(questions.has_bpf(answer.out) for answer in answers):
            self._ask(kubectl, questions.of_bpf(pod))
        listed = self._ask(kubectl, [questions.cni_logs(pod)])[0]
        if not listed.code:
            self._ask(kubectl, questions.of_cni_logs(pod, listed.out))

    def _ask(self, kubectl: Kubectl, asked: Iterable[Question]) -> list[Answer]:
        wanted = list(asked)
        answers = list(self._all(lambda each: self._one(kubectl, each), wanted))
        for question, answer in zip(wanted, answers, strict=True):
            text = answer.out + answer.error
            if answer.code and not question.optional:
                self.missing.append((question.part, answer.why))
            if answer.out or not question.optional:
                self._answer(question.part, f"kubectl {' '.join(question.words)}", text)
        return answers

    def _one(self, kubectl: Kubectl, question: Question) -> Answer:
        left = self._end - time.monotonic()
        if left <= 0:
            return Answer(1, "", f"not asked any more: {_DEADLINE_S:.0f} s are over")
        return kubectl.ask(*question.words, timeout_s=min(left, _ANSWER_S))

    def _all(self, ask: Callable[[T], R], wanted: Sequence[T]) -> Iterator[R]:
        with ThreadPoolExecutor(self._parallel) as pool:
            yield from pool.map(ask, wanted)

    def _answer(self, part: str, command: str, text: str) -> None:
        """Like one typed at a prompt, which is how the doctor knows what an answer is."""
        cut = text[-ANSWER_MAX:] if " logs " in command or " tail " in command else text[:ANSWER_MAX]
        self._write(f"{part}.txt", f"{self._prompt} {command}\n{cut}\n")

    def _write(self, path: str, text: str) -> None:
        self._bundle.write(path, "\n".join(redacted(text.split("\n"))))
        self.gathered += 1


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a number that no file gives a name
        return str(os.getuid())


def _settings(flags: dict[str, Any]) -> Settings:
    names = {setting.name for setting in SETTINGS}
    texts = {name: text for name, text in flags.items() if name in names and isinstance(text, str)}
    return read_settings(texts, os.environ, flags.get("config_file"))


def _as_flags(settings: Settings, flags: dict[str, Any]) -> list[str]:
    """For our own commands: the same flags again. What comes from the environment they see themselves."""
    words = [f"{setting.flag}={settings.get(setting.name)}" for setting in SETTINGS if flags.get(setting.name)]
    return [*words, *([f"--config={flags['config_file']}"] if flags.get("config_file") else [])]


def _progress(what: str) -> None:
    sys.stderr.write(f"Collecting {what} ...\n")
    sys.stderr.flush()
