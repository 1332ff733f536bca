"""Evidence that says since when it counts: what was said before is over, what is found is as it is."""

from __future__ import annotations

import pytest

from tortie.doctor.diagnosis import Diagnosis
from tortie.doctor.examine import picture_of
from tortie.doctor.judgement.judge import judge
from tortie.doctor.picture.facts import Event, LogLine
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Source

PODS = """[root@node-1 ~]# kubectl get pods -A
NAMESPACE     NAME                READY   STATUS    RESTARTS   AGE
kube-system   calico-node-x7k2p   1/1     Running   0          10m
"""
JOURNAL = """[root@node-2 ~]# journalctl -u kubelet
Nov 16 19:36:43 node-2 kubelet[77]: E1116 19:36:43.120000      77 pod_workers.go:190] "Error syncing pod" err="{old}"
Nov 16 19:41:09 node-2 kubelet[77]: E1116 19:41:09.120000      77 pod_workers.go:190] "Error syncing pod" err="{new}"
"""
MISSING = 'failed to find plugin \\"calico\\" in path [/opt/cni/bin]'
SWAP = "Running with swap on is not supported, please disable swap!"
LOG = """[root@node-1 ~]# kubectl -n kube-system logs calico-node-x7k2p
2026-11-16 19:36:43.120 [ERROR][9] startup/startup.go 158: before
  and more of it
2026-11-16 19:41:09.120 [INFO][9] startup/startup.go 158: after
  and more of that
"""
EVENTS = """[root@node-1 ~]# date -u
Mon Nov 16 19:42:00 UTC 2026
[root@node-1 ~]# kubectl -n kube-system get events
LAST SEEN   TYPE      REASON      OBJECT                  MESSAGE
5m          Warning   Unhealthy   pod/calico-node-x7k2p   Liveness probe failed: before
20s         Warning   Unhealthy   pod/calico-node-x7k2p   Liveness probe failed: after
"""


def picture(since: str | None, *texts: str) -> Picture:
    sources = [Source(f"cluster/{number}.txt", tuple(text.splitlines())) for number, text in enumerate(texts)]
    note = f"[root@node-1 ~]# cat /run/tortie/labs/demo/healed\n{since}\n"
    sources += [] if since is None else [Source("cluster/lab.txt", tuple(note.splitlines()))]
    return picture_of(sources)


def said(since: str | None, *texts: str) -> list[str]:
    """By logs and events."""
    seen = picture(since, *texts)
    return [*(line.message for line in seen.of(LogLine)), *(event.message for event in seen.of(Event))]


def diagnosis(since: str | None, old: str, new: str) -> Diagnosis:
    return judge(picture(since, PODS, JOURNAL.replace("{old}", old).replace("{new}", new)))


def test_lines_with_a_year_and_those_that_follow_them() -> None:
    assert len(said(None, LOG)) == 4
    assert said("2026-11-16T19:40:00+00:00", LOG) == ["after", "and more of that"]


def test_lines_without_a_year() -> None:
    assert len(said(None, JOURNAL)) == 2
    (left,) = said("2026-11-16T19:40:00+00:00", JOURNAL)
    assert "{new}" in left


@pytest.mark.parametrize(
    ("since", "left"),
    [("2026-12-31T23:59:00Z", 2), ("2027-01-01T00:00:30Z", 1), ("2027-01-01T00:02:00Z", 0)],
)
def test_a_new_year_begins(since: str, left: int) -> None:
    text = "$ journalctl -u kubelet\n"
    text += "Dec 31 23:59:59 n kubelet[7]: last words\nJan  1 00:01:00 n kubelet[7]: first words\n"
    assert len(said(since, text)) == left


def test_events_by_their_age_and_the_clock() -> None:
    assert len(said(None, EVENTS)) == 2
    assert said("2026-11-16T19:40:00Z", EVENTS) == ["Liveness probe failed: after"]
    without_clock = EVENTS.partition("\n")[2].partition("\n")[2]
    assert len(said("2026-11-16T19:40:00Z", without_clock)) == 2


def test_what_was_wrong_before_is_not_the_cause_of_what_is_wrong_now() -> None:
    mixed = [cause.cause.id for cause in diagnosis(None, MISSING, SWAP).causes]
    assert "cni-binary-missing" in mixed
    told = diagnosis("2026-11-16T19:40:00Z", MISSING, SWAP)
    assert [cause.cause.id for cause in told.causes] == ["kubelet-swap-on"]
    (skipped,) = told.skipped
    assert skipped.name == "cluster/lab.txt"
    assert "2026-11-16 19:40:00 UTC" in skipped.why.to("en")
    assert "2026-11-16 19:40:00 UTC" in skipped.why.to("zh")


def test_answers_do_not_date_each_other() -> None:
    """One without any time in it counts; what stands before the first time is as old as that."""
    old = "$ kubectl logs calico-node-x7k2p -c install-cni\nbefore all\n"
    old += "2026-11-16 19:36:43.120 [INFO][9] a.go 1: before\n"
    untimed = "$ kubectl logs calico-node-x7k2p -c calico-node\nERROR: Unable to access datastore\nTerminating\n"
    assert len(said(None, old + untimed)) == 4
    assert said("2026-11-16T19:40:00Z", old + untimed) == ["ERROR: Unable to access datastore", "Terminating"]


def test_it_counts_wherever_it_is_pasted() -> None:
    note = "[root@node-1 ~]# cat /run/tortie/labs/demo/healed\n2026-11-16T19:40:00.000+00:00\n"
    (left,) = said(None, note + JOURNAL)
    assert "{new}" in left


def test_a_folder_that_has_to_be_quoted() -> None:
    note = "[root@node-1 ~]# cat '/srv/my labs/demo/healed'\n2026-11-16T19:40:00.000+00:00\n"
    assert len(said(None, note + JOURNAL)) == 1


def test_what_does_not_count_was_understood() -> None:
    seen = picture("2026-11-16T19:40:00Z", JOURNAL)
    assert seen.lines_taken() == {"cluster/0.txt": {2, 3}, "cluster/lab.txt": {2}}


@pytest.mark.parametrize("since", ["", "yesterday", "2026-13-45"])
def test_a_moment_that_makes_no_sense_leaves_everything(since: str) -> None:
    assert len(said(since, JOURNAL)) == 2
