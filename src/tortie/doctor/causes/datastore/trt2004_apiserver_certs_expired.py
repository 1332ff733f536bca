"""TRT2004: an API server serves an expired certificate, often renewed on disk but still old in memory."""

from __future__ import annotations

import re

from tortie.doctor.causes.datastore.api_evidence import VIP_SIGNS
from tortie.doctor.causes.datastore.api_trust import (
    AFTER,
    BEFORE,
    CLOCK_SIGNS,
    EXPIRED,
    command_of,
    disagreement,
    expired,
    refusals,
    steps,
    synchronised,
    unsynchronised,
    where,
)
from tortie.doctor.causes.legacy import (
    LIKELY,
    POSSIBLE,
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
from tortie.doctor.picture.facts import Certificate
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.words import Words

_AGE = re.compile(r"(\d{1,4}) (sec|min|hour|day|week|month|year)\w*(?: ago)?", re.IGNORECASE)
_UNITS = {"se": 1, "mi": 60, "ho": 3600, "da": 86400, "we": 604800, "mo": 2592000, "ye": 31536000}
_HOST = re.compile(r"[a-z][\w.-]{0,62}|(?:\d{1,3}\.){3}\d{1,3}", re.IGNORECASE)
_ID = re.compile(r"[0-9a-f]{6,}", re.IGNORECASE)
_LINES = 100  # of one answer


def _of_api(picture: Picture, cert: Certificate) -> bool:
    said = f"{cert.endpoint} {cert.subject} {command_of(picture, cert)}".lower()
    return "apiserver" in said or ":6443" in said or ":443" in said or ":8443" in said


def _not_restarted(picture: Picture) -> tuple[str, Place] | None:
    """The one machine whose kube-apiserver is much older than on the others: it still holds the old certificate."""
    ages: dict[str, tuple[float, Place]] = {}
    for exhibit in picture.commands("kube-apiserver"):
        above = ""
        for index, line in enumerate(exhibit.lines[:_LINES]):
            age = _AGE.search(line) if "kube-apiserver" in line else None
            if age:
                leading = line.split()[0] if line[:1].isalpha() and not line.startswith("kube-apiserver") else ""
                host = above or (leading if not _ID.match(leading) else "") or exhibit.host
                if host:
                    ages[host] = (int(age[1]) * _UNITS[age[2][:2].lower()], exhibit.place(index))
            elif _HOST.fullmatch(line.strip("=-#: >\t")):
                above = line.strip("=-#: >\t")
    old = sorted(ages.items(), key=lambda item: -item[1][0])
    if len(old) > 1 and old[0][1][0] >= 2 * old[1][1][0]:
        return old[0][0], old[0][1][1]
    return None


def judge(picture: Picture) -> Finding:
    after = [r for r in refusals(picture, AFTER) if r.server == "api"]
    bare = [r for r in refusals(picture, EXPIRED) if r.server == "api"]
    before = refusals(picture, BEFORE)
    late = [cert for cert in expired(picture) if _of_api(picture, cert)]
    valid = [cert for cert in picture.of(Certificate) if _of_api(picture, cert) and cert not in late and cert.not_after]
    wrong = disagreement(picture)
    doubt = [*unsynchronised(picture), *steps(picture), *([wrong] if wrong else [])]
    if before:
        return ruled_out(
            Words("the text is `is before`: a clock is wrong", "文本是 `is before`：是时钟错误"), (before[0].hit,)
        )
    others = [r for r in refusals(picture, AFTER) if r.server in ("etcd", "typha")]
    refused = after or bare
    if late or refused:
        served = list(dict.fromkeys(where(picture, c) for c in late))
        end = after[0].hit.value("end") if after else ""
        address = refused[0].address if refused else ""
        strength = STRONG if after or late else LIKELY
        if late and (refused or synchronised(picture)):
            strength = PROVEN
        if doubt and not late:
            strength = POSSIBLE
        if bare and not after and valid and not late:
            strength = POSSIBLE
        shown = ", ".join(served) or address or "the API server"
        why = Words(
            f"The API server's certificate ({shown}) has expired{f' on {end}' if end else ''}.",
            f"API server 的证书（{shown}）{f'已于 {end} ' if end else '已'}过期。",
        )
        stale = _not_restarted(picture)
        if stale:
            why = Words(
                f"{why.en} kube-apiserver of {stale[0]} was not restarted since long.",
                f"{why.zh}{stale[0]} 上的 kube-apiserver 长期未重启。",
            )
        objects = (stale[0] if stale else "", *served, "kube-apiserver", "apiserver.crt", address, "6443")
        evidence = (
            *late[:2],
            *((stale[1],) if stale else ()),
            *(r.hit for r in refused[:2]),
            *picture.said("certs-renewed")[:1],
            *valid[:1],
        )
        return found(strength, why, objects, evidence, address=address)
    if others:
        return ruled_out(
            Words("the expired certificate is not the API server's", "过期的不是 API server 的证书"), (others[0].hit,)
        )
    if valid:
        return ruled_out(Words("the API server's certificate is valid", "API server 证书在有效期内"), valid[:1])
    return cannot_tell(Words("no certificate of the API server is shown", "没有 API server 的证书信息"))


def fix(picture: Picture, _finding: Finding) -> tuple[Step, ...]:
    return (
        Step(
            Words(
                "See which master serves what; the file on disk may be newer",
                "查看每个 master 实际提供的证书；磁盘上的文件可能更新",
            ),
            "for m in <masters>; do echo | openssl s_client -connect $m:6443 2>/dev/null | openssl x509 -noout "
            "-enddate; done; kubeadm certs check-expiration",
        ),
        Step(Words("Renew on each master", "在每个 master 上续期"), "kubeadm certs renew all"),
        Step(
            Words(
                "Restart the static pods, one master at a time: they keep the old certificate in memory",
                "逐个 master 重启静态 Pod：它们内存中仍是旧证书",
            ),
            "mkdir -p ~/manifests && mv /etc/kubernetes/manifests/kube-*.yaml ~/manifests/ && sleep 30 && mv "
            "~/manifests/*.yaml /etc/kubernetes/manifests/",
            "disruptive",
        ),
        Step(
            Words("Restart kubelet and refresh the admin's kubeconfig", "重启 kubelet，并更新管理员 kubeconfig"),
            "systemctl restart kubelet && cp /etc/kubernetes/admin.conf ~/.kube/config",
            "disruptive",
        ),
        Step(
            Words("Recreate agents that are stuck", "重建卡住的 calico-node"),
            f"kubectl -n {picture.namespace} delete pod <stuck calico-node pod>",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="apiserver-certs-expired",
    code="TRT2004",
    severity="critical",
    name=Words("API server certificate expired", "API 证书过期"),
    what=Words(
        "An API server serves an expired certificate, often only one of several, renewed on disk but not in memory.",
        "某个 API server 仍在使用过期证书，往往只是多个中的一个：磁盘上已续期，内存中仍是旧的。",
    ),
    explains=(
        "api-unreachable",
        "datastore-error",
        "crash-loop",
        "controllers-failing",
        "init-crash",
        "node-not-ready",
    ),
    look_alikes=(
        ("datastore-tls-invalid", Words("the port is 2379", "端口是 2379")),
        ("typha-cert-expired", Words("the port is 5473", "端口是 5473")),
        ("clock-skew", Words("`is before`, or clocks differ", "`is before`，或各机时钟不一致")),
    ),
    signs=(*VIP_SIGNS, AFTER, BEFORE, EXPIRED, *CLOCK_SIGNS),
    judge=judge,
    ask=Ask(
        "for m in <masters>; do echo | openssl s_client -connect $m:6443 2>/dev/null | openssl x509 -noout -enddate; "
        "done; date -u",
        Words("an end date in the past, with the right time, is the fault", "时间正确而到期日已过，即为故障"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("Every master shows a date in the future", "每个 master 的到期日都在将来"),
            "for m in <masters>; do echo | openssl s_client -connect $m:6443 2>/dev/null | openssl x509 -noout "
            "-enddate; done",
        ),
    ),
    prevent=(Words("Renew at every upgrade, alarm 30 days before expiry.", "每次升级时续期，到期前 30 天告警。"),),
    yields_to=("clock-skew",),
)
