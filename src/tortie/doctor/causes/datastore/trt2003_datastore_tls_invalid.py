"""TRT2003: the certificate of etcd (or the API server), or Calico's own for it, is not accepted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_evidence import ETCD_PORTS, agents_well
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
    disagreement,
    expired,
    refusals,
    shown_by,
    unsynchronised,
)
from tortie.doctor.causes.datastore.endpoint_evidence import URL, configured
from tortie.doctor.causes.datastore.etcd_trust import (
    asked_by_calico,
    different_cas,
    distrusted,
    files,
    names_shown,
    not_among_names,
    of_etcd,
    secret_of,
)
from tortie.doctor.causes.shared import DIAL_FAILED
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import restart_agent
from tortie.doctor.picture.facts import PortTest
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

SKIPPING: Final = Sign("trt2003-skipping", "startup.go … Skipping datastore connection test")
NO_CLIENT_CERTIFICATE: Final = Sign("trt2003-no-client-certificate", "tls: client didn't provide a certificate")
CURL_60: Final = Sign("trt2003-curl-60", "curl: \\(60\\) SSL certificate problem")
CURL_51: Final = Sign(
    "trt2003-curl-51", "no alternative certificate subject name matches target (host name|hostname) '<name>'"
)
NAMED: Final = (NO_SAN, WRONG_NAME, KEY_USAGE, LEGACY_NAME, OUR_WRONG_NAME)  # unmistakable, whosever it is
OURS: Final = (OUR_EXPIRED, OUR_UNKNOWN_CA, OUR_REFUSED)
TRUST: Final = (UNKNOWN_CA, BAD_CERTIFICATE, UNKNOWN_AUTHORITY, NO_CLIENT_CERTIFICATE)
LATE: Final = frozenset((OUR_EXPIRED.key, AFTER.key, EXPIRED.key))
OTHER_SIDE: Final = (BAD_CERTIFICATE.key, UNKNOWN_AUTHORITY.key)  # what a server notes when a client refuses it
NAMES: Final = (NO_SAN.key, WRONG_NAME.key, CURL_51.key)
_SECRET: Final = "calico-etcd-secrets"
# The sentence for a message; what is not here only says that somebody was refused.
_SAY: Final = {
    NO_SAN.key: "no-san",
    WRONG_NAME.key: "wrong-name",
    OUR_WRONG_NAME.key: "wrong-name",
    CURL_51.key: "wrong-name",
    KEY_USAGE.key: "key-usage",
    LEGACY_NAME.key: "common-name-only",
    UNKNOWN_CA.key: "unknown-ca",
    OUR_UNKNOWN_CA.key: "unknown-ca",
    OUR_REFUSED.key: "client-refused",
    NO_CLIENT_CERTIFICATE.key: "no-client-certificate",
} | dict.fromkeys(LATE, "expired")
_WHOSE: Final = {"etcd": Words("etcd", "etcd "), "api": Words("the API server", "API Server ")}
_DATASTORE: Final = Words("the datastore", "数据存储")
_PROGRAMS: Final = {"etcd": "etcd", "api": "kube-apiserver"}
_OF_CALICO: Final = ("unknown-ca", "client-refused", "no-client-certificate", "handshake")


class Seen:
    """Certificates that were refused or shown, and whether the clocks can be trusted."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.silent = picture.hits(SKIPPING)
        self.late = [cert for cert in expired(picture) if of_etcd(picture, cert)]
        by_curl = [r for r in refusals(picture, CURL_60, CURL_51) if "not yet valid" not in r.hit.line]
        by_curl = [refusal for refusal in by_curl if not _without_ca(refusal)]
        every = [*refusals(picture, *OURS, *NAMED, *TRUST, AFTER, EXPIRED), *by_curl]
        self.etcd = [refusal for refusal in every if refusal.server == "etcd"]

    @cached_property
    def refused(self) -> list[Refusal]:
        """Those of etcd, of nobody in particular, of the API server."""
        others = refusals(self.picture, *NAMED, UNKNOWN_CA)
        nobody = [refusal for refusal in others if not refusal.server and asked_by_calico(refusal)]
        api = [refusal for refusal in others if refusal.server == "api" and not _by_kubectl(refusal)]
        return [*self.etcd, *nobody, *api]

    @cached_property
    def doubt(self) -> bool:
        """A clock may be what is wrong."""
        return bool(unsynchronised(self.picture)) or disagreement(self.picture) is not None

    @cached_property
    def files(self) -> tuple[Culprit, ...]:
        return named("certificate", *files(self.picture))

    @property
    def endpoint(self) -> tuple[str, str]:
        """Whom Calico is told to ask: address and port."""
        told = (match for endpoint in configured(self.picture) if (match := URL.match(endpoint)))
        first = next(told, None)
        return (first[2], first[3]) if first else ("", "")


def _without_ca(refusal: Refusal) -> bool:
    return _ill_equipped(refusal.hit.command, refusal.hit.line + refusal.hit.text)


def _ill_equipped(command: str, said: str) -> bool:
    """A trial without a CA trusts no member; one without a certificate is sent away by each that wants one."""
    if not command:
        return False
    return ("-cert" not in command and "alert" in said) or ("--cacert" not in command and "issuer" in said)


def _by_kubectl(refusal: Refusal) -> bool:
    """What a person's own kubeconfig does not fit is no matter of Calico's."""
    return "unable to connect to the server" in refusal.hit.line.lower()


def not_yet_valid(seen: Seen) -> Finding | None:
    early = [r for r in refusals(seen.picture, BEFORE, OUR_EARLY, CURL_EARLY) if r.server in ("etcd", "")]
    clock = early and all(refusal.hit.sign in OTHER_SIDE for refusal in seen.etcd)
    return ruled_out((early[0].hit,)) if clock else None


def refused(seen: Seen) -> Finding | None:
    if not seen.refused:
        return None
    refusal = _plainest(seen.refused)
    say = _SAY.get(refusal.hit.sign, "expired" if seen.late else "handshake")
    address, name = refusal.address or refusal.hit.value("ip"), refusal.hit.value("name").rstrip(".")
    unnamed = not_among_names(seen.picture) if say == "handshake" and refusal.server == "etcd" else None
    if unnamed:
        say, address = "wrong-name", unnamed.endpoint.rpartition(":")[0]
        name = address
    port = str(refusal.port or "")
    blamed = culprits(
        named("address", address),
        named("port", f"{port}/tcp" if port else ""),
        named("program", _PROGRAMS.get(refusal.server, "")),
        named("certificate", *(cert.endpoint for cert in seen.late)),
        seen.files,
        Culprit("resource", f"secret/{_SECRET}"),
    )
    return found(
        _strength(seen, refusal), blamed,
        (*seen.late[:1], *names_shown(seen.picture)[:1], refusal.hit, *seen.silent[-1:]), say=say, name=name,
        whose=_WHOSE.get(refusal.server, _DATASTORE), server=refusal.server, address=address,
        at=address if address != name else "", port=port or ("2379" if refusal.server != "api" else "6443"),
    )  # fmt: skip


def _plainest(some: list[Refusal]) -> Refusal:
    """The first that says what is wrong, of those about the same server."""
    same = [refusal for refusal in some if refusal.server == some[0].server]
    return next((refusal for refusal in same if refusal.hit.sign in _SAY), some[0])


def _strength(seen: Seen, refusal: Refusal) -> float:
    sign = refusal.hit.sign
    if sign in LATE and seen.doubt:
        return POSSIBLE
    if seen.late or (refusal.server == "etcd" and sign in NAMES and names_shown(seen.picture)):
        return PROVEN
    if sign in OTHER_SIDE and not seen.silent:
        return LIKELY
    return STRONG if refusal.server == "etcd" or sign in NAMES else LIKELY


def expired_as_shown(seen: Seen) -> Finding | None:
    if not seen.late:
        return None
    where = seen.late[0].endpoint or seen.late[0].subject
    strength = STRONG if seen.silent and not seen.doubt else POSSIBLE if agents_well(seen.picture) else LIKELY
    blamed = culprits(named("certificate", where), Culprit("program", "etcd"), Culprit("port", "2379/tcp"))
    evidence = (*seen.late[:2], *seen.silent[-1:])
    host, _, port = where.rpartition(":")
    return found(strength, blamed, evidence, where=where, address=host, port=port if host else "2379", server="etcd")


def other_ca(seen: Seen) -> Finding | None:
    pair = next(different_cas(seen.picture), None)
    if pair is None:
        return None
    own, theirs = pair
    secret = secret_of(seen.picture, own)
    blamed = culprits(
        Culprit("resource", f"secret/{secret or _SECRET}"),
        named("certificate", own.owner, theirs.owner),
        Culprit("program", "etcd"),
        Culprit("port", "2379/tcp"),
    )
    address, port = seen.endpoint
    return found(
        STRONG if seen.silent else LIKELY, blamed, (own, theirs, *seen.silent[-1:]),
        given=secret or own.owner, used=theirs.owner, secret=secret, ca_file=theirs.owner, address=address, port=port,
    )  # fmt: skip


def does_not_verify(seen: Seen) -> Finding | None:
    verdicts = distrusted(seen.picture)
    if not verdicts:
        return None
    first = verdicts[0]
    address, _, port = first.name.rpartition(":")
    blamed = culprits(named("address", first.name), Culprit("program", "etcd"), Culprit("port", "2379/tcp"), seen.files)
    evidence = (*verdicts[:2], *seen.silent[-1:])
    strength = STRONG if seen.silent else LIKELY
    return found(strength, blamed, evidence, endpoint=first.name, verdict=first.value, address=address, port=port)


def handshake_fails(seen: Seen) -> Finding | None:
    tests = [t for t in seen.picture.of(PortTest) if t.port in ETCD_PORTS and t.result == "tls-error"]
    tests = [test for test in tests if not _ill_equipped(shown_by(seen.picture, test.place), test.text)]
    if not tests:
        return None
    address, port = tests[0].address, str(tests[0].port)
    blamed = culprits(named("address", address), Culprit("port", f"{port}/tcp"), Culprit("program", "etcd"))
    return found(LIKELY, blamed, (*tests[:2], *seen.silent[-1:]), address=address, port=port)


def tcp_fails(seen: Seen) -> Finding | None:
    failed = [hit for hit in seen.picture.hits(DIAL_FAILED) if int(hit.value("port")) in ETCD_PORTS]
    return ruled_out(failed[:1]) if failed else None


def silent_log(seen: Seen) -> Finding | None:
    """The etcd client says nothing when TLS fails, so the log ends where it begins to ask."""
    alone = len(seen.silent) == 1 and not any(pod.all_ready for pod in seen.picture.agents_now())
    if not alone or not _ends_there(seen.picture):
        return None
    address, port = seen.endpoint
    return found(HINT, named("program", "etcd"), seen.silent[:1], address=address, port=port)


def _ends_there(picture: Picture) -> bool:
    """The last line of an exhibit is that line."""
    lasts = (next((line for line in reversed(exhibit.lines) if line.strip()), "") for exhibit in picture.exhibits)
    return any("Skipping datastore connection test" in last for last in lasts)


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("look")
    if finding.value("server") == "api":
        yield do("api-ca" if finding.say == "unknown-ca" else "api-names")
        yield from restart_agent(picture)
        return
    if finding.rule == "silent-log":
        return
    either = not finding.rule or finding.say == "handshake" or finding.rule == "handshake-fails"
    of_calico = _cas(picture, finding)
    if either or not of_calico:
        yield from _of_etcd(picture, finding)
    if either or of_calico:
        yield do("secret", secret=finding.value("secret", _SECRET))
        yield from restart_agent(picture)
        yield do("controllers")


def _of_etcd(picture: Picture, finding: Finding) -> Iterator[Do]:
    """Renewed by kubeadm where etcd is its static pod and only the date is wrong; by the owner of the CA elsewhere."""
    static = bool(picture.pods_now("etcd-"))
    yield do("renew" if static and _late(picture, finding) else "reissue")
    yield do("restart-pod" if static else "restart-unit")


def _late(_picture: Picture, finding: Finding) -> bool:
    return finding.say == "expired" or finding.rule == "expired-as-shown"


def _names(_picture: Picture, finding: Finding) -> bool:
    return finding.say in ("no-san", "wrong-name", "common-name-only")


def _cas(_picture: Picture, finding: Finding) -> bool:
    return finding.say in _OF_CALICO or finding.rule in ("other-ca", "does-not-verify")


CAUSE = Cause(
    module=__name__,
    id="datastore-tls-invalid",
    code="TRT2003",
    severity="high",
    explains=(
        "datastore-error", "init-stuck", "crash-loop", "api-unreachable", "controllers-failing", "sandbox-failed",
    ),
    signs=(*TRUST_SIGNS, *CLOCK_SIGNS, DIAL_FAILED, SKIPPING, NO_CLIENT_CERTIFICATE, CURL_60, CURL_51),
    look=Seen,
    rules=(
        not_yet_valid, refused, expired_as_shown, other_ca, does_not_verify, handshake_fails, tcp_fails, silent_log,
    ),
    fix=fix,
    prevents={"alarm": _late, "names": _names, "rotation": _cas},
    yields_to=("cni-conf-dir-mismatch", "stale-cni-config"),
)  # fmt: skip
