"""TRT2007: a member of etcd diverged, so updates conflict for ever."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from tortie.doctor.causes.datastore.etcd_evidence import odd_reading, odd_size
from tortie.doctor.causes.legacy import (
    HINT,
    LIKELY,
    PROVEN,
    STRONG,
    Ask,
    Cause,
    Finding,
    Step,
    cannot_tell,
    found,
    ruled_out,
)
from tortie.doctor.causes.shared import TERMINATING
from tortie.doctor.picture.facts import LogLine
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

CONFLICT = Sign("trt2007-conflict", "update conflict: Node\\(<node>\\)")
MODIFIED = Sign("trt2007-modified", "the object has been modified; please apply your changes to the latest version")
CORRUPT = Sign("trt2007-corrupt", "alarm:CORRUPT")
CORRUPT_ALARM = Sign("trt2007-corrupt-alarm", "etcdserver: corrupt cluster")
INCONSISTENT = Sign("trt2007-inconsistent", "found data inconsistency with peers")
DIFFERENT_HASH = Sign("trt2007-different-hash", "found different hash values with remote peer")
CHECK_FAILED = Sign("trt2007-check-failed", "checkInitialHashKV failed")
DIVERGED = (CORRUPT, CORRUPT_ALARM, INCONSISTENT, DIFFERENT_HASH, CHECK_FAILED)
_HASH = re.compile(r"((?:https?://)?[\w.\[\]-]+:\d{4,5})[,|\s]+(\d{6,12})(?:[,|\s]+(\d+))?")
PERSISTS_S = 30.0  # a race between two writers is over long before


class Member(NamedTuple):
    endpoint: str
    hash: str
    place: Place


def hashes(picture: Picture) -> list[Member]:
    """What each member answered to `endpoint hashkv`."""
    found_ = {}
    for exhibit in picture.commands("hashkv"):
        for index, line in enumerate(exhibit.lines[:60]):
            if match := _HASH.search(line):
                found_[match[1]] = Member(match[1], match[2], exhibit.place(index))
    return list(found_.values())


def _persistent(picture: Picture, hits: list[Hit]) -> bool:
    lines = {line.place: line.time for line in picture.of(LogLine) if line.time is not None}
    times = sorted(time for hit in hits if (time := lines.get(hit.place)) is not None)
    if len(times) > 1 and times[-1] - times[0] > PERSISTS_S:
        return True
    return len({hit.place for hit in hits}) >= 3


def judge(picture: Picture) -> Finding:
    conflicts, modified, diverged = picture.hits(CONFLICT), picture.hits(MODIFIED), picture.hits(*DIVERGED)
    members = hashes(picture)
    count = Counter(member.hash for member in members)
    nodes = list(dict.fromkeys(hit.value("node") for hit in conflicts))
    symptom = (*conflicts[:2], *modified[:1], *picture.hits(TERMINATING)[-1:])
    said = picture.said("etcd-member-restored")
    if len(count) > 1:
        common = count.most_common(1)[0]
        odd = [m for m in members if m.hash != common[0] or common[1] == 1]
        names = ", ".join(m.endpoint for m in odd)
        why = Words(
            f"The members of etcd hold different data: the hash of {names} differs.",
            f"etcd 各成员数据不一致：{names} 的哈希与其他成员不同。",
        )
        bare = [m.endpoint.split("//")[-1].rsplit(":", 1)[0] for m in odd]
        strength = PROVEN if conflicts or modified or diverged else STRONG
        objects = (*(m.endpoint for m in odd), *bare, "etcd", *nodes)
        return found(
            strength, why, objects, (*(m.place for m in members), *diverged[:1], *symptom), member=odd[0].endpoint
        )
    if diverged:
        why = Words("etcd itself reports that its members diverged.", "etcd 自身报告成员数据不一致。")
        return found(STRONG, why, ("etcd", *nodes), (*diverged[:2], *symptom))
    alone, size = odd_reading(picture), odd_size(picture)
    if alone and conflicts:
        why = Words(
            f"Asked on its own, {alone.address} answers otherwise than the other members ({alone.text[:80]}).",
            f"单独读取时，{alone.address} 的结果与其他成员不同（{alone.text[:80]}）。",
        )
        proof = (alone, *((size.place,) if size else ()), *said[:1], *symptom)
        return found(PROVEN, why, (alone.address, "etcd", *nodes), proof, member=alone.address)
    if members and conflicts:
        return ruled_out(Words("all members have the same hash", "所有成员哈希一致"), [m.place for m in members])
    again = _persistent(picture, conflicts)
    if conflicts and (again or said):
        why = Words(
            f"The update of Node({nodes[0]}) conflicts at every start; a race would be over within seconds.",
            f"每次启动更新 Node({nodes[0]}) 都冲突；普通竞争几秒内就会消失。",
        )
        both = len(modified) > 1 or bool(said) or size is not None
        odd_one = (size.address,) if size else ()
        proof = (*((size.place,) if size else ()), *said[:1], *symptom)
        return found(STRONG if again and both else LIKELY, why, (*odd_one, "etcd", *nodes), proof)
    if conflicts:
        why = Words("one update conflict was seen; that happens in a normal race", "只有一次更新冲突，普通竞争也会如此")
        return found(HINT, why, ("etcd", *nodes), symptom)
    return cannot_tell(
        Words("no update conflict and no hashes of the members are shown", "没有更新冲突，也没有成员哈希")
    )


def fix(_picture: Picture, finding: Finding) -> tuple[Step, ...]:
    member = finding.value("member", "<bad member>")
    return (
        Step(
            Words("Find the member that differs", "找出不一致的成员"),
            "for e in <members>; do etcdctl --endpoints=$e endpoint hashkv; done",
        ),
        Step(
            Words("Save a good member first", "先备份正常成员"),
            "etcdctl --endpoints=<good member> snapshot save ~/etcd-$(date +%F).db",
        ),
        Step(
            Words(f"Remove {member} from the cluster", f"将 {member} 移出集群"),
            "etcdctl member list; etcdctl member remove <id of the bad member>",
            "disruptive",
        ),
        Step(
            Words("On that machine stop etcd and put its data aside", "在该机器上停止 etcd 并移走其数据目录"),
            "mv /etc/kubernetes/manifests/etcd.yaml ~/ && mv /var/lib/etcd /var/lib/etcd.bad",
            "disruptive",
        ),
        Step(
            Words("Add it again; it copies the data from the others", "重新加入，由其他成员同步数据"),
            "etcdctl member add <name> --peer-urls=https://<ip>:2380 && mv ~/etcd.yaml /etc/kubernetes/manifests/",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="etcd-inconsistent",
    code="TRT2007",
    severity="critical",
    name=Words("etcd members diverged", "etcd 成员数据不一致"),
    what=Words(
        "A member of etcd diverged (crash, file-system repair, bad restore), so updates conflict for ever.",
        "某个 etcd 成员数据出现分歧（崩溃、文件系统修复、错误恢复），更新永远冲突。",
    ),
    explains=("start-terminated", "crash-loop", "datastore-error", "controllers-failing", "node-not-ready"),
    look_alikes=(("etcd-slow", Words("time-outs now and then, no lasting conflict", "时而超时，没有持续冲突")),),
    signs=(CONFLICT, MODIFIED, *DIVERGED, TERMINATING),
    judge=judge,
    ask=Ask(
        "for e in <members>; do etcdctl --endpoints=$e endpoint hashkv; done",
        Words("different hashes at one revision prove it", "同一 revision 下哈希不同即可证实"),
    ),
    fix=fix,
    verify=(Step(Words("All members show the same hash", "所有成员哈希一致"), "etcdctl endpoint hashkv --cluster"),),
    prevent=(
        Words(
            "Switch on etcd's corruption checks; never restore a single member.",
            "开启 etcd 数据损坏检查；不要单独恢复某个成员。",
        ),
    ),
)
