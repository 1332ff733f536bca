"""TRT5011: an annotation that is to choose a pool or an address for pods is not a list, or names no pool."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.signs import Hit, Sign
from tortie.model.tuples import NamedTuple

# What Go's JSON says of something that is no list of strings.
BEGINNING: Final = Sign("pool-annotation-beginning", "invalid character <list> looking for beginning of value")
LITERAL: Final = Sign("pool-annotation-literal", "invalid character <list> in literal (null|true|false) \\(expecting")
AFTER: Final = Sign("pool-annotation-after", "invalid character <list> after (top-level value|array element)")
NO_LIST: Final = Sign("pool-annotation-no-list", "cannot unmarshal <kind> into Go value of type []string")
NO_POOL: Final = Sign("pool-annotation-no-pool", 'error parsing pool "<pool>": invalid CIDR address')
LOGGED: Final = Sign("pool-annotation-logged", "Error parsing IPv(4|6) IPPools")
ADDRESSES: Final = Sign("pool-annotation-addresses", 'failed to parse IPs <list> for annotation "<key>"')
JSON: Final = (BEGINNING, LITERAL, AFTER, NO_LIST)
NOBODY_ELSE: Final = (LOGGED, ADDRESSES)
KEY: Final = "cni.projectcalico.org/ipv4pools"
# The error has to be Calico's own answer; one inside of a file that a runtime parses stands behind other words.
_ANSWER: Final = lazily(
    r"(?:type=\\*\"calico\\*\"(?: name=\S+)? failed \(add\): |set ?up pod \S+ network: )(?:json: )?"
    r"(?:invalid character|cannot unmarshal)"
)
_SHOWN: Final = lazily(
    r"cni\.projectcalico\.org/(ipv[46]pools|ipAddrs|ipAddrsNoIpam|ipFamilies)\\{0,4}[\"']?\s{0,9}[:=]\s{0,9}(\S.{0,2000})"
)
# A whole string of JSON with something of the document behind it, and a list of plain names.
_STRING: Final = lazily(r'"(?:[^"\\]|\\.){0,300}"(?=\s{0,9}[,}\]])')
_INNER: Final = lazily(r'\["[^"\]]{1,80}"(?:, ?"[^"\]]{1,80}"){0,9}\](?=[\s\]},]|$)')
_NAMESPACE: Final = lazily(
    r"\bannotate (?:ns|namespaces?)[ /]+([a-z0-9-]+)|\b(?:ns|namespaces?)[ /]+([a-z0-9-]+)(?= |$)|\"?kind\"?: Namespace"
)
_NAME: Final = lazily(r"[a-z0-9][a-z0-9.-]*")
_LINES: Final = 400
_LONGEST: Final = 300


def _parsed(text: str) -> object:
    import json  # costs milliseconds that most cases need not pay

    return json.loads(text)


class Annotation(NamedTuple):
    """As somebody wrote it, on a pod or a namespace."""

    key: str
    value: str
    place: Place
    namespace: str = ""  # where it is a namespace's

    @property
    def listed(self) -> list[str] | None:
        """None for what is no list of strings."""
        try:
            parsed = _parsed(self.value)
        except ValueError:
            return None
        return parsed if isinstance(parsed, list) and all(isinstance(one, str) for one in parsed) else None


def shown_in(picture: Picture) -> Iterator[Annotation]:
    for exhibit in picture.exhibits:
        rows = [(-1, exhibit.command), *enumerate(exhibit.lines[:_LINES])]
        for at, line in rows:
            match = _SHOWN.search(line[:_LONGEST]) if "cni.projectcalico.org/ip" in line else None
            if match and "{" not in match[2] and "<" not in match[2]:
                # Of what was typed its answer is quoted.
                yield Annotation(
                    match[1],
                    _value(line[match.start(2) :][:_LONGEST]),
                    exhibit.place(max(at, 0)),
                    _namespace(exhibit, line),
                )


def _value(text: str) -> str:
    """Up to its end: in JSON or in Go's `map[…]` other annotations and brackets come behind it."""
    text = text.rstrip()
    if whole := _STRING.match(text):
        return _unquoted(whole[0])
    if (inner := _INNER.match(text)) and text[0] == "[":
        return inner[0]
    return _unquoted(text.removesuffix(",").rstrip())


def _unquoted(text: str) -> str:
    """YAML's and the shell's quotes around the value are not part of it."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            whole = _parsed(text)
        except ValueError:
            return text[1:-1]
        return whole if isinstance(whole, str) else text
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == "'" else text


def _namespace(exhibit: Exhibit, line: str) -> str:
    match = _NAMESPACE.search(line) or _NAMESPACE.search(exhibit.command)
    return next((group for group in match.groups() if group), "") if match else ""


class Seen:
    """What the plugin answers, and annotations as far as they are shown."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.refused = [hit for hit in picture.hits(*JSON) if _ANSWER.search(hit.line)] + picture.hits(*NOBODY_ELSE)
        self.unknown = picture.hits(NO_POOL)
        self.shown = list(shown_in(picture))

    @cached_property
    def bad(self) -> Annotation | None:
        return next((one for one in self.shown if one.listed is None), None)

    @cached_property
    def pools(self) -> list[str]:
        names = [pool.name for pool in self.picture.pools_now() if pool.name]
        lists = self.picture.commands("get", "ippool")  # kubectl shows names and ages, no ranges
        names += [word for each in lists for line in each.lines[1:_LINES] for word in line.split()[:1]]
        return [name for name in dict.fromkeys(names) if _NAME.fullmatch(name)]

    @cached_property
    def pool(self) -> str:
        """What was meant: a pool that exists and is named inside of the value, else the only one."""
        words = _NAME.findall(self.bad.value) if self.bad else [hit.value("pool") for hit in self.unknown]
        meant = [word for word in words if word in self.pools]
        return meant[0] if meant else self.pools[0] if len(self.pools) == 1 else ""

    @property
    def where(self) -> Annotation | None:
        return self.bad or next(iter(self.shown), None)

    def found(self, strength: float, evidence: tuple[object, ...], name: str = "") -> Finding:
        where = self.where
        key = f"cni.projectcalico.org/{where.key}" if where else KEY
        namespace = where.namespace if where else ""
        who = culprits(
            Culprit("setting", key),
            named("pool", name, where.value if where and _NAME.fullmatch(where.value) else ""),
            named("resource", f"namespace/{namespace}" if namespace else ""),
        )
        return found(
            strength, who, evidence, key=key, name=name, value=where.value if where else "", namespace_of=namespace,
            pool=self.pool,
        )  # fmt: skip


def _named_pods_run(picture: Picture, hits: list[Hit]) -> list[object]:
    """The pods that these lines are about, where all of them run now."""
    events = {event.place: event.object.rpartition("/")[2] for event in picture.events()}
    about = [
        pod
        for pod in picture.pods_now()
        if any(events.get(hit.place) == pod.name or pod.name in hit.line for hit in hits)
    ]
    return list(about) if about and all(pod.all_ready for pod in about) else []


def started_since(seen: Seen) -> Finding | None:
    running = _named_pods_run(seen.picture, [*seen.refused, *seen.unknown])
    return ruled_out(running[:1]) if running else None


def not_a_list(seen: Seen) -> Finding | None:
    if not seen.refused:
        return None
    return seen.found(PROVEN if seen.bad else STRONG, (seen.bad, seen.refused[-1]))


def no_such_pool(seen: Seen) -> Finding | None:
    if not seen.unknown:
        return None
    name = seen.unknown[-1].value("pool")
    listed = [pool for pool in seen.picture.pools_now() if pool.name]
    absent = seen.pools and name not in seen.pools
    return seen.found(PROVEN if absent else STRONG, (seen.where, seen.unknown[-1], *listed[:1]), name)


def looks_wrong(seen: Seen) -> Finding | None:
    """The plugin's answer is not shown."""
    return seen.found(POSSIBLE, (seen.bad,)) if seen.bad else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    del picture
    yield do("see")
    yield do("pools")
    yield do("namespace" if finding.value("namespace_of") else "template")


CAUSE = Cause(
    module=__name__,
    id="bad-pool-annotation",
    code="TRT5011",
    severity="medium",
    explains=("sandbox-failed", "no-address", "others-failing"),
    signs=(*JSON, *NOBODY_ELSE, NO_POOL),
    look=Seen,
    rules=(started_since, not_a_list, no_such_pool, looks_wrong),
    fix=fix,
)
