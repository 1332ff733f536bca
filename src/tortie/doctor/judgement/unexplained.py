"""What speaks against `healthy` and no cause accounts for: the lines to quote first, ranked, with where to look."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from typing import Final

from tortie.doctor.diagnosis import Unexplained
from tortie.doctor.judgement.complaints import is_about_words, is_over, standing_complaints
from tortie.doctor.judgement.components import NODE, PATH, PERSON, POD, POOLS, Owners, look_at
from tortie.doctor.judgement.grave_lines import HARMLESS, Grave, grave_lines
from tortie.doctor.judgement.normal import Normals
from tortie.doctor.judgement.own_failures import brought_upon_itself
from tortie.doctor.judgement.passing import Passing, is_settled
from tortie.doctor.judgement.pods import elsewhere
from tortie.doctor.judgement.slow_trials import slow_trials
from tortie.doctor.judgement.standing import Standing, live, operator_content, ready
from tortie.doctor.judgement.taken_addresses import taken as taken_addresses
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Document, Event, LogLine, Ping, Pod, PortTest, Setting
from tortie.doctor.picture.host_pods import is_agent, on_host_network
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.reading.readers.statements import Sentence
from tortie.doctor.reading.readers.statements import said as stated
from tortie.doctor.words import Words

SHOWN: Final = 8
_RANKS: Final = ("fatal", "degraded", "error", "trial", "event", "restarts", "address", "complaint")
_REPEATED: Final = 3  # times that the same error is more than a hiccup
_MANY, _A_DAY = 10, 3.0  # restarts that are more than history
_PLACED_S: Final = 600.0  # within which a scheduler has found a node for everybody it finds one for
_FAILED: Final = ("refused", "timeout", "unreachable", "reset", "closed", "tls-error", "http-5")
_SYSTEM: Final = ("calico", "tigera", "coredns", "kube-proxy", "kube-dns", "canal", "typha")
_GENERAL: Final = ("Unhealthy", "BackOff", "Killing", "NodeNotReady", "FailedScheduling")  # that, and not why: symptoms
_NUMBERS: Final = lazily(r"0x[0-9a-f]+|[0-9a-f]{8,}|\d+")
_MESSAGE: Final = lazily(r"\s*(?:- )?[Mm]essage: +[\"']?(?!All objects available|All Objects)(\S.{5,})")
_BASE: Final = lazily(r"(?:-[a-z0-9]{5,10})?-[a-z0-9]{5}$|-\d+$")


def unexplained(
    picture: Picture,
    now: Standing,
    accounted: Iterable[Place] = (),
    normals: Normals | None = None,
    widely_seen: bool = False,
) -> tuple[Unexplained, ...]:
    """The worst first; lines that a cause accounts for are left out, and what is normal where the cluster is well."""
    owners = Owners(picture)
    taken = list(accounted)
    found = [
        *_lines(picture, now, owners),
        *_errors(picture, now),
        *_ended_starts(picture, now),
        *_flaps(picture),
        *_refused_peers(picture),
        *_trials(picture),
        *slow_trials(picture),
        *_degraded(picture, owners),
        *_events(picture, now),
        *_restless(picture),
        *_unplaced(picture),
        *_addresses(picture),
        *taken_addresses(picture),
        *_complaints(picture, now),
    ]
    left = [item for item in found if not any(_overlap(item.place, place) for place in taken)]
    if now.in_order and normals:
        left = [item for item in left if not normals.accounts_for(item)]
        if all(
            item.kind == "complaint" for item in left
        ):  # about words that were printed, and all of them mean nothing
            left = [item for item in left if not is_about_words(item.text, picture, widely_seen)]
    return tuple(sorted(_merged(left), key=_rank))[:SHOWN]


def _rank(item: Unexplained) -> tuple[object, ...]:
    single = item.kind == "error" and item.count < _REPEATED  # one error says less than a trial that failed
    return (_RANKS.index("event") if single else _RANKS.index(item.kind), -item.count, item.place)


def _merged(items: list[Unexplained]) -> list[Unexplained]:
    """Each line once, and each message once, counted."""
    by_place: dict[tuple[str, int], Unexplained] = {}
    for item in items:
        by_place.setdefault((item.place.source, item.place.first), item)
    by_words: dict[tuple[str, str], Unexplained] = {}
    for item in by_place.values():
        key = (item.kind, _NUMBERS.sub("#", item.text[-200:]))
        known = by_words.get(key)
        by_words[key] = item._replace(count=known.count + item.count) if known else item
    return list(by_words.values())


def _overlap(one: Place, other: Place) -> bool:
    return one.source == other.source and one.first <= other.last and other.first <= one.last


def _lines(picture: Picture, now: Standing, owners: Owners) -> Iterator[Unexplained]:
    logged = {line.place: line for line in picture.of(LogLine)}
    over = _settled_lines(picture, now)
    for grave in grave_lines(picture):
        line = logged.get(grave.place)
        if (line is not None and line.place in over) or (now.well and _served_since(grave, picture)):
            continue
        component = owners.component(grave.place, grave.text)
        look = PATH if grave.kind == "trial" else look_at(component)
        yield Unexplained(grave.kind, grave.text, grave.place, component, look)


def _served_since(grave: Grave, picture: Picture) -> bool:
    """kubectl was refused, and answered further below."""
    if not grave.text.startswith(("The connection to the server", "Unable to connect to the server")):
        return False
    return any(pod.place.source == grave.place.source and pod.place.first > grave.place.last for pod in picture.of(Pod))


def _errors(picture: Picture, now: Standing) -> Iterator[Unexplained]:
    over = _settled_lines(picture, now)
    for line in _grave_log(picture, now):
        if line.place not in over:
            kind = "error" if line.level == "ERROR" else "fatal"
            yield Unexplained(kind, line.message, line.place, line.program, look_at(line.program))


def _ended_starts(picture: Picture, now: Standing) -> Iterator[Unexplained]:
    """The warning before a start gave up is its reason, though it is only a warning."""
    last: dict[tuple[str, str], LogLine] = {}
    for line in picture.of(LogLine):
        key = (line.place.source, line.pod)
        if line.message.strip() == "Terminating":
            reason = last.pop(key, line)
            if not is_settled(line, picture, now):
                yield Unexplained("fatal", reason.message, reason.place, reason.program, look_at(reason.program))
        elif line.level in ("WARNING", "ERROR", "FATAL") and not HARMLESS.search(line.message):
            last[key] = line


def _grave_log(picture: Picture, now: Standing) -> list[LogLine]:
    others = elsewhere(picture, now)
    return [
        line
        for line in picture.of(LogLine)
        if line.level in ("FATAL", "PANIC", "ERROR") and not HARMLESS.search(line.message)
        if not any(name in line.message for name in others)
    ]


def _settled_lines(picture: Picture, now: Standing) -> set[Place]:
    """Lines of logs whose trouble the present shows to be over.

    An agent that is ready has got past what it said, unless it says it again and again to the end of its log; the
    operator has, when it reports that everything is available.
    """
    grave = _grave_log(picture, now)
    passing = Passing(picture, now)
    repeated = _still_said(picture, grave)
    done = {line.place for line in grave if is_settled(line, picture, now) and line.place not in repeated}
    return done | {line.place for line in grave if passing.is_old(line)}


def _still_said(picture: Picture, grave: list[LogLine]) -> set[Place]:
    """Errors that a log repeats up to its end."""
    ends: dict[tuple[str, str], int] = {}
    for line in picture.of(LogLine):
        key = (line.place.source, line.pod)
        ends[key] = max(ends.get(key, 0), line.place.last)
    same: dict[tuple[str, str, str], list[LogLine]] = {}
    for line in grave:
        same.setdefault((line.place.source, line.pod, _NUMBERS.sub("#", line.message)), []).append(line)
    return {
        line.place
        for (source, pod, _), lines in same.items()
        if len(lines) >= _REPEATED and max(one.place.last for one in lines) >= ends[(source, pod)] - 1
        for line in lines
    }


def _flaps(picture: Picture) -> Iterator[Unexplained]:
    """One peer whose session ends again and again, though it stands at this moment."""
    lost: dict[tuple[str, str], list[LogLine]] = {}
    for line in picture.of(LogLine):
        if line.program.startswith("bird") and "Hold timer expired" in line.message:
            lost.setdefault((line.place.source, line.message.partition(":")[0]), []).append(line)
    for lines in lost.values():
        if len(lines) > 1:
            yield Unexplained("error", lines[-1].message, lines[-1].place, "bird", look_at("bird"), len(lines))


def _refused_peers(picture: Picture) -> Iterator[Unexplained]:
    """BIRD turns away a caller that somebody configured as a peer, though not for this node."""
    peers = {one.value for one in picture.settings("peerIP", "bgppeer") if one.value}
    for line in picture.of(LogLine):
        stranger = line.message.partition("Unexpected connect from unknown address ")[2].split(" ")[0]
        if stranger and stranger in peers:
            yield Unexplained("error", line.message, line.place, "bird", look_at("bird"))


def _trials(picture: Picture) -> Iterator[Unexplained]:
    for ping in picture.of(Ping):
        if not ping.ok:
            yield Unexplained("trial", ping.text or f"ping {ping.address}", ping.place, "ping", PATH)
    for test in picture.of(PortTest):
        if test.result.startswith(_FAILED):
            told = test.text or f"{test.tool} {test.address}:{test.port}: {test.result}"
            yield Unexplained("trial", told, test.place, test.tool, PATH)
    for answer in picture.of(Setting):
        if answer.scope == "dns" and answer.value in ("timeout", "SERVFAIL", "unresolved"):
            yield Unexplained("trial", f"{answer.name}: {answer.value}", answer.place, answer.owner, PATH)


def _degraded(picture: Picture, owners: Owners) -> Iterator[Unexplained]:
    for one in picture.of(Setting):
        worse = one.scope == "tigerastatus" and ("degraded=True" in one.value or "available=False" in one.value)
        if worse or (one.scope == "apiservice" and one.value.startswith("False")):
            component = "operator" if one.scope == "tigerastatus" else "calico-apiserver"
            why = _message_beside(owners.exhibit(one.place))
            yield Unexplained("degraded", why or f"{one.name}: {one.value}", one.place, component, look_at(component))


def _message_beside(exhibit: Exhibit | None) -> str:
    """The first message in the status of an object; a table has none."""
    lines = (_MESSAGE.match(line) for line in exhibit.lines) if exhibit else ()
    return next((match[1].strip() for match in lines if match), "")


def _events(picture: Picture, now: Standing) -> Iterator[Unexplained]:
    passing = Passing(picture, now)
    others = elsewhere(picture, now)
    for event in picture.events():
        grave = event.kind == "Warning" or event.reason.startswith("Failed")
        if not grave or event.reason in _GENERAL or passing.is_past(event):
            continue
        if event.object.rpartition("/")[2] not in others:
            text = f"{event.reason}: {event.message}".strip(": ")
            yield Unexplained("event", text, event.place, _event_source(event), _event_look(event), event.count)


def _event_source(event: Event) -> str:
    return event.object or event.source


def _event_look(event: Event) -> Words:
    return NODE if event.object.lower().startswith("node") else POD


def _restless(picture: Picture) -> Iterator[Unexplained]:
    """Pods of the system that are ready at this moment, and are restarted all the time; agents are a symptom."""
    for pod in live(picture.pods_now()):
        count, age_s = pod.restarts or 0, pod.age_s or 0.0
        system = pod.name.startswith(_SYSTEM) and not is_agent(pod.name)
        if system and ready(pod) and age_s and count >= _MANY and count / age_s * 86_400 > _A_DAY:
            yield Unexplained("restarts", f"{pod.name}: {count} restarts", pod.place, pod.name, POD)


def _unplaced(picture: Picture) -> Iterator[Unexplained]:
    """Pods of several namespaces that nobody has given a node to: one alone may ask for what no node has."""
    pods = [pod for pod in live(picture.pods_now()) if pod.status == "Pending" and (pod.age_s or 0.0) > _PLACED_S]
    pods = [pod for pod in pods if pod.node in ("", "<none>") and not pod.ip]
    if len({pod.namespace for pod in pods if pod.namespace}) > 1:
        told = ", ".join(pod.name for pod in pods[:4]) + (" …" if len(pods) > 4 else "")
        yield Unexplained("event", f"Pending: {told}", pods[0].place, "kube-scheduler", POD, len(pods))


def _addresses(picture: Picture) -> Iterator[Unexplained]:
    """Pods whose address is from nowhere that Calico gives addresses from."""
    others = _not_for_pods(picture)
    pools = [
        net for pool in picture.pools_now() if pool.cidr not in others and (net := _network(pool.cidr)) is not None
    ]
    if not pools:
        return
    hosts = {*picture.internal_ips().values(), *(pod.host_ip for pod in picture.pods_now())}
    hosts |= {pod.ip for pod in picture.pods_now() if on_host_network(pod.name)}
    strange = [
        pod
        for pod in live(picture.pods_now())
        if pod.ip and pod.ip not in hosts and not on_host_network(pod.name) and _outside(pod.ip, pools)
    ]
    if strange:
        told = ", ".join(f"{pod.name} {pod.ip}" for pod in strange[:4]) + (" …" if len(strange) > 4 else "")
        ranges = ", ".join(str(pool) for pool in pools)
        yield Unexplained("address", f"{told} ∉ {ranges}", strange[0].place, "cni", POOLS, len(strange))


def _not_for_pods(picture: Picture) -> set[str]:
    """Ranges of pools for tunnels or for services alone."""
    specs = [document.body.get("spec") for document in picture.of(Document) if document.kind == "IPPool"]
    uses = [(spec.get("cidr"), spec.get("allowedUses")) for spec in specs if isinstance(spec, dict)]
    return {str(cidr) for cidr, use in uses if isinstance(use, list) and use and "Workload" not in use}


def _network(cidr: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(cidr, strict=False)
    except ValueError:
        return None


def _outside(ip: str, pools: list[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    try:
        address = ipaddress.ip_address(ip)
    except ValueError:
        return False
    same = [pool for pool in pools if pool.version == address.version]
    return bool(same) and not any(address in pool for pool in same)


def _is_harmless(complaint: str) -> bool:
    """Nothing but a message in it is trouble, and clusters that are well print that message, too."""
    rest = HARMLESS.sub("", complaint)
    return rest != complaint and not any(kind == "suffers" for kind, _ in stated(Sentence(rest, 0, 0)))


def _is_settled_condition(complaint: str, picture: Picture) -> bool:
    """Nothing but a condition of the operator in it is trouble, and the operator reports that all is available now."""
    rest = complaint.replace("Degraded", "").replace("DEGRADED", "")
    if rest == complaint or not operator_content(picture):
        return False
    return not any(kind == "suffers" for kind, _ in stated(Sentence(rest, 0, 0)))


def _complaints(picture: Picture, now: Standing) -> Iterator[Unexplained]:
    """What people say to be broken now, unless it is about a pod whose trouble is its own."""
    own = {_BASE.sub("", name).lower() for name in elsewhere(picture, now)}
    for said in standing_complaints(picture):
        if _is_harmless(said.text) or _is_settled_condition(said.text, picture):
            continue
        if brought_upon_itself(said.text, picture, now):
            continue
        if not any(name in said.text.lower() for name in own) and not (now.well_as_told and is_over(said, picture)):
            yield Unexplained("complaint", said.text, said.place, "", PERSON)
