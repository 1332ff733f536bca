"""TRT2003: the certificate of etcd (or the API server), or Calico's own for it, is not accepted."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tortie.doctor.causes.datastore.api_evidence import ETCD_PORTS
from tortie.doctor.causes.datastore.api_trust import (
    AFTER,
    BAD_CERTIFICATE,
    BEFORE,
    CLOCK_SIGNS,
    CURL_EARLY,
    EXPIRED,
    KEY_USAGE,
    LEGACY_NAME,
    NO_SAN,
    OUR_EARLY,
    OUR_EXPIRED,
    OUR_REFUSED,
    OUR_UNKNOWN_CA,
    OUR_WRONG_NAME,
    TRUST_SIGNS,
    UNKNOWN_AUTHORITY,
    UNKNOWN_CA,
    WRONG_NAME,
    Refusal,
    command_of,
    disagreement,
    expired,
    refusals,
    shown_by,
    unsynchronised,
)
from tortie.doctor.causes.legacy import (
    HINT,
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
from tortie.doctor.causes.shared import DIAL_FAILED
from tortie.doctor.picture.facts import Certificate, PortTest, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

SKIPPING = Sign("trt2003-skipping", "startup.go … Skipping datastore connection test")
NO_CLIENT_CERTIFICATE = Sign("trt2003-no-client-certificate", "tls: client didn't provide a certificate")
CURL_60 = Sign("trt2003-curl-60", "curl: \\(60\\) SSL certificate problem")
NAMED = (NO_SAN, WRONG_NAME, KEY_USAGE, LEGACY_NAME, OUR_WRONG_NAME)  # unmistakable, whoever's certificate it is
_CA = re.compile(r"(?:^|[^a-z])ca(?:[^a-z]|$)", re.IGNORECASE)
OURS = (OUR_EXPIRED, OUR_UNKNOWN_CA, OUR_REFUSED)
TRUST = (UNKNOWN_CA, BAD_CERTIFICATE, UNKNOWN_AUTHORITY, NO_CLIENT_CERTIFICATE)
LATE = (OUR_EXPIRED, AFTER, EXPIRED)
OTHER_SIDE = (BAD_CERTIFICATE.key, UNKNOWN_AUTHORITY.key)  # what a server notes when a client refuses it, whatever for


def _reason(refusal: Refusal) -> tuple[str, str]:
    key = refusal.hit.sign
    if key == NO_SAN.key:
        return "has no IP SAN for the address used", "没有包含所用地址的 IP SAN"
    if key in (WRONG_NAME.key, OUR_WRONG_NAME.key):
        name = refusal.hit.value("name").rstrip(".")
        return f"is not valid for {name}", f"对 {name} 无效（SAN 不含该名称）"
    if key == KEY_USAGE.key:
        return (
            "lacks the key usage needed (client or server authentication)",
            "缺少所需的密钥用途（客户端或服务端认证）",
        )
    if key == LEGACY_NAME.key:
        return "carries its name only in the Common Name, no SAN", "只有 Common Name，没有 SAN"
    if key in (each.key for each in LATE):
        return "has expired", "已过期"
    if key in (UNKNOWN_CA.key, OUR_UNKNOWN_CA.key):
        return "is signed by a CA that Calico does not trust", "由 Calico 不信任的 CA 签发"
    return "is refused by the other side", "被对端拒绝"


def judge(picture: Picture) -> Finding:
    etcd = [r for r in refusals(picture, *OURS, *NAMED, *TRUST, AFTER, EXPIRED) if r.server == "etcd"]
    etcd += [r for r in refusals(picture, CURL_60) if r.server == "etcd" and "not yet valid" not in r.hit.line]
    api = [r for r in refusals(picture, *NAMED, UNKNOWN_CA) if r.server == "api"]
    nobody = [r for r in refusals(picture, *NAMED, UNKNOWN_CA) if not r.server and _calico(r)]
    late = [cert for cert in expired(picture) if _of_etcd(picture, cert)]
    early = [r for r in refusals(picture, BEFORE, OUR_EARLY, CURL_EARLY) if r.server in ("etcd", "")]
    doubt = bool(unsynchronised(picture)) or disagreement(picture) is not None
    silent = picture.hits(SKIPPING)
    if early and all(r.hit.sign in OTHER_SIDE for r in etcd):
        return ruled_out(
            Words("the certificate is not valid yet: the clock is wrong", "证书尚未生效：是时钟的问题"), (early[0].hit,)
        )
    for refusal in (*etcd, *nobody, *api):
        en, zh = _reason(refusal)
        timed = refusal.hit.sign in (each.key for each in LATE)
        strength = STRONG if refusal.server == "etcd" or refusal.hit.sign in (NO_SAN.key, WRONG_NAME.key) else LIKELY
        if refusal.hit.sign in (BAD_CERTIFICATE.key, UNKNOWN_AUTHORITY.key) and not silent and not late:
            strength = LIKELY
        if late or (
            refusal.server == "etcd" and _san_shown(picture) and refusal.hit.sign in (NO_SAN.key, WRONG_NAME.key)
        ):
            strength = PROVEN
        if timed and doubt:
            strength = POSSIBLE
        address = refusal.address or refusal.hit.value("ip")
        whose = {"etcd": "etcd", "api": "the API server"}.get(refusal.server, "the datastore")
        whose_zh = {"etcd": "etcd", "api": "API server"}.get(refusal.server, "数据存储")
        at = f" ({address})" if address else ""
        objects = (
            address,
            str(refusal.port or ""),
            whose,
            *(c.endpoint for c in late),
            *_files(picture),
            "calico-etcd-secrets",
        )
        evidence = (*late[:1], *_san_shown(picture)[:1], refusal.hit, *silent[-1:])
        why = Words(f"The certificate of {whose}{at} {en}.", f"{whose_zh}{at} 的证书{zh}。")
        return found(strength, why, objects, evidence, address=address, port=str(refusal.port or 2379))
    if late:
        where = late[0].endpoint or late[0].subject
        why = Words(f"The certificate of etcd ({where}) has expired.", f"etcd 证书（{where}）已过期。")
        return found(
            STRONG if silent and not doubt else LIKELY, why, (where, "etcd", "2379"), (*late[:2], *silent[-1:])
        )
    for own, theirs in _other_ca(picture):
        secret = _secret(picture, own)
        given, used = secret or own.owner or "its secret", theirs.owner or "its file"
        why = Words(
            f"Calico is given another CA ({given}) than etcd uses ({used}): the fingerprints differ.",
            f"Calico 使用的 CA（{given}）与 etcd 使用的 CA（{used}）指纹不一致。",
        )
        objects = (secret, "calico-etcd-secrets", own.owner, theirs.owner, "etcd", "2379")
        return found(STRONG if silent else LIKELY, why, objects, (own, theirs, *silent[-1:]))
    unverified = [s for s in picture.of(Setting) if s.scope == "tls" and _distrusted(picture, s)]
    if unverified:
        first = unverified[0]
        why = Words(
            f"With the CA that was given, the certificate of {first.name} does not verify: {first.value}.",
            f"用给定的 CA 无法验证 {first.name} 的证书：{first.value}。",
        )
        evidence = (*unverified[:2], *silent[-1:])
        return found(STRONG if silent else LIKELY, why, (first.name, "etcd", "2379", *_files(picture)), evidence)
    tcp = [t for t in picture.of(PortTest) if t.port in ETCD_PORTS and t.result == "tls-error"]
    if tcp:
        why = Words(
            f"TCP to {tcp[0].address}:{tcp[0].port} connects and TLS fails.",
            f"到 {tcp[0].address}:{tcp[0].port} 的 TCP 已连上，但 TLS 失败。",
        )
        return found(
            LIKELY, why, (tcp[0].address, str(tcp[0].port), "etcd"), (*tcp[:2], *silent[-1:]), address=tcp[0].address
        )
    failed = [h for h in picture.hits(DIAL_FAILED) if int(h.value("port")) in ETCD_PORTS]
    if failed:
        return ruled_out(Words("TCP to etcd itself fails", "到 etcd 的 TCP 连接本身就失败"), failed[:1])
    if silent and not any(pod.all_ready for pod in picture.agents_now()) and len(silent) == 1 and _ends_there(picture):
        why = Words(
            "The log is silent after the connection test was skipped, as the etcd client is when TLS fails",
            "跳过连接测试后日志不再输出，etcd 客户端在 TLS 失败时正是如此",
        )
        return found(HINT, why, ("etcd",), silent[:1])
    return cannot_tell(
        Words("no TLS error and no certificate of the datastore is shown", "没有 TLS 错误，也没有数据存储的证书")
    )


def _other_ca(picture: Picture) -> Iterator[tuple[Setting, Setting]]:
    """The CA that Calico is given, and the one of etcd, where their fingerprints differ."""
    shown = [s for s in picture.of(Setting) if s.scope == "fingerprint"]
    sides: dict[bool, list[Setting]] = {True: [], False: []}
    for setting in shown:
        command = shown_by(picture, setting.place)
        said = f"{setting.owner} {command}" if setting.owner and not command.count(setting.owner) else command
        about = setting.owner or said
        if "s_client" in said or not _CA.search(f"{about} {said}"):
            continue  # what a server shows first is its own certificate, not its CA's
        calico = "secret" in said or "calico" in about.lower() or "cni/net.d" in about
        if calico or "etcd" in said:
            sides[calico].append(setting)
    for own in sides[True]:
        for theirs in sides[False]:
            if own.name == theirs.name and own.value != theirs.value:
                yield own, theirs


def _secret(picture: Picture, own: Setting) -> str:
    named = re.search(r"\bsecrets?[ /]([\w.-]+)", shown_by(picture, own.place))
    return named[1] if named else ""


def _distrusted(picture: Picture, verdict: Setting) -> bool:
    """openssl was told which CA to trust and does not: without -CAfile its verdict means nothing."""
    command = shown_by(picture, verdict.place)
    etcd = any(f":{port}" in verdict.name for port in ETCD_PORTS)
    return etcd and "-CAfile" in command and verdict.value.split(" ")[0] in ("18", "19", "20", "21")


def _calico(refusal: Refusal) -> bool:
    said = f"{refusal.hit.line} {refusal.hit.command}".lower()
    return any(word in said for word in ("calico", "datastore", "startup", "felix", "client.go", "etcd"))


def _of_etcd(picture: Picture, cert: Certificate) -> bool:
    said = f"{cert.endpoint} {cert.subject} {command_of(picture, cert)}".lower()
    return "etcd" in said or any(f":{port}" in said for port in ETCD_PORTS)


def _san_shown(picture: Picture) -> list[object]:
    """Where the names of a certificate are shown."""
    named: list[object] = [cert for cert in picture.of(Certificate) if cert.names]
    return named or [exhibit.place(0) for exhibit in picture.commands("openssl", "Alternative")]


def _files(picture: Picture) -> list[str]:
    names = ("ETCD_CA_CERT_FILE", "ETCD_CERT_FILE", "ETCD_KEY_FILE", "etcd_ca_cert_file")
    return [picture.value(name) for name in names] + [c.endpoint for c in picture.of(Certificate)]


def _ends_there(picture: Picture) -> bool:
    """The last line of an exhibit is that line."""
    return any(
        e.lines and "Skipping datastore connection test" in next((x for x in reversed(e.lines) if x.strip()), "")
        for e in picture.exhibits
    )


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    address, port = finding.value("address", "<endpoint>"), finding.value("port", "2379")
    return (
        Step(
            Words("Look at the certificate that is served", "查看实际提供的证书"),
            f"openssl s_client -connect {address}:{port} </dev/null 2>/dev/null | openssl x509 -noout -dates -issuer "
            "-ext subjectAltName",
        ),
        Step(
            Words(
                "Re-issue it from the CA that Calico trusts, with every address in use as SAN, then restart etcd, "
                "one member at a time",
                "由 Calico 信任的 CA 重新签发，SAN 包含所有在用地址，然后逐个成员重启 etcd",
            ),
            "systemctl restart etcd",
            "disruptive",
        ),
        Step(
            Words(
                "Renew the secret with CA, certificate and key that Calico mounts",
                "更新 Calico 挂载的 CA、证书与密钥 Secret",
            ),
            f"kubectl -n {picture.namespace} create secret generic calico-etcd-secrets --from-file=etcd-ca=ca.pem "
            "--from-file=etcd-cert=client.pem --from-file=etcd-key=client-key.pem --dry-run=client -o yaml | kubectl "
            "apply -f -",
        ),
        Step(
            Words("Recreate the agents so that they read it", "重建 calico-node 使其读取新证书"),
            f"kubectl -n {picture.namespace} rollout restart ds/calico-node deploy/calico-kube-controllers",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="datastore-tls-invalid",
    code="TRT2003",
    severity="high",
    name=Words("datastore certificate not accepted", "数据存储证书不被接受"),
    what=Words(
        "The certificate of etcd or the API server, or Calico's client certificate, is not accepted: expired, no SAN "
        "for the "
        "address, another CA, missing key usage. The etcd client retries without a word.",
        "etcd 或 API server 的证书，或 Calico 的客户端证书不被接受：过期、SAN 不含所用地址、CA 不符或缺少密钥用途。"
        "etcd 客户端会静默重试。",
    ),
    explains=(
        "datastore-error",
        "init-stuck",
        "crash-loop",
        "api-unreachable",
        "controllers-failing",
        "sandbox-failed",
    ),
    look_alikes=(
        ("apiserver-certs-expired", Words("the expired certificate is the API server's", "过期的是 API server 的证书")),
        ("typha-cert-expired", Words("the port is 5473", "端口是 5473")),
        ("clock-skew", Words("`is before`, or a clock that is not synchronised", "`is before`，或时钟未同步")),
        ("datastore-unreachable", Words("TCP itself fails", "TCP 本身就失败")),
    ),
    signs=(*TRUST_SIGNS, *CLOCK_SIGNS, DIAL_FAILED, SKIPPING, NO_CLIENT_CERTIFICATE, CURL_60),
    judge=judge,
    ask=Ask(
        "openssl s_client -connect <endpoint> </dev/null 2>/dev/null | openssl x509 -noout -dates -ext subjectAltName",
        Words("dates, names and issuer of what is served", "实际证书的有效期、名称与签发者"),
    ),
    fix=fix,
    verify=(Step(Words("calicoctl answers at once", "calicoctl 立即返回"), "calicoctl get nodes"),),
    yields_to=("cni-conf-dir-mismatch", "stale-cni-config"),
    prevent=(
        Words("Alarm before expiry; put every address in use into the SANs.", "到期前告警；SAN 包含所有在用地址。"),
    ),
)
