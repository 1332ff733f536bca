"""What a host is called: by Kubernetes, by Calico's records, by calico-node, by the CNI configuration."""

from __future__ import annotations

from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Registered, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.picture.whose import foreign_hosts
from tortie.doctor.signs import Sign
from tortie.model.tuples import NamedTuple

CNI_NODENAME: Final = Sign("cni-nodename", '"nodename":( )?"<name>"')
CNI_HOSTNAME: Final = Sign("cni-hostname", '"hostname":( )?"<name>"')
STORED_NAME: Final = Sign("stored-node-name", "Using stored node name (<name> )?from")
NODENAME_FILE: Final = "/var/lib/calico/nodename"
NAME_SIGNS: Final = (CNI_NODENAME, CNI_HOSTNAME, STORED_NAME)
# Two other commands before it at least, on one line: what it prints comes last.
_LAST_OF_SEVERAL: Final = lazily(r";[^;&]+(?:;|&&)\s*(?:sudo )?cat \S*calico/nodename\s*(?:;\s*echo\s*)?$")
VARIABLES: Final = ("NODENAME", "FELIX_FELIXHOSTNAME")


class Called(NamedTuple):
    """A name, and what gave it."""

    name: str
    by: str  # cni, calico-node, file
    host: str
    source: object  # evidence


def by_cni(picture: Picture) -> list[Called]:
    """Names written out in CNI configurations; templates say nothing."""
    names = []
    for hit in picture.hits(CNI_NODENAME, CNI_HOSTNAME):
        exhibit = exhibit_at(picture, hit.place)
        text = exhibit.text if exhibit else ""
        cni = '"calico' in text or "cni" in (exhibit.command if exhibit else "")
        # "nodeName" of a pod is Kubernetes' word; signs do not mind capitals.
        cni = cni and '"nodeName"' not in hit.text
        if cni and "__" not in hit.value("name") and "$" not in hit.value("name"):
            names.append(Called(hit.value("name"), "cni", hit.host, hit))
    return names


def by_agent(picture: Picture) -> list[Called]:
    settings = [s for name in VARIABLES for s in picture.settings(name) if _plain(s)]
    return [Called(s.value, "calico-node", s.host, s) for s in settings]


def _plain(setting: Setting) -> bool:
    value = setting.value
    return bool(value) and "$" not in value and "spec." not in value and "fieldRef" not in value and " " not in value


def by_file(picture: Picture) -> list[Called]:
    """Answers of `cat /var/lib/calico/nodename`, also of several hosts in one loop."""
    names = []
    for exhibit in picture.commands("calico/nodename"):
        elsewhere = exhibit.host in foreign_hosts(picture)  # of a template that is mounted there, or of a backup
        last = _LAST_OF_SEVERAL.search(exhibit.command)
        if "od -c" in exhibit.command or ("ls " in exhibit.command and not last) or elsewhere:
            continue
        answers = [
            (index, line.strip())
            for index, line in enumerate(exhibit.lines)
            if exhibit.number(index) not in exhibit.command_lines and len(line.split()) == 1 and "/" not in line
        ]
        asked = exhibit.command.partition("calico/nodename")[0]
        if last:
            names += [Called(name, "file", exhibit.host, exhibit.place(index)) for index, name in answers[-1:]]
        elif "hostname" in asked and len(answers) % 2 == 0:  # each host prints its own name before the stored one
            pairs = zip(answers[::2], answers[1::2], strict=True)
            names += [Called(name, "file", host, exhibit.place(index)) for (_, host), (index, name) in pairs]
        else:
            names += [Called(name, "file", exhibit.host, exhibit.place(index)) for index, name in answers]
    return names


def own_name(picture: Picture, host: str) -> str:
    """What the host behind a prompt calls itself; people shorten prompts, and clones keep them."""
    names = [s.value for s in picture.settings("name", "host") if s.host == host and not s.value.isdecimal()]
    return names[-1] if names else host


def split_names(names: list[str]) -> list[tuple[str, str]]:
    """Pairs of a short and a full name that stand for one host, short one first."""
    full = [name for name in names if "." in name and not name.replace(".", "").isdecimal()]
    return [(name, long) for name in names if "." not in name for long in full if long.split(".")[0] == name]


def old_record(picture: Picture) -> tuple[str, str] | None:
    """The name of before and the present one, where one host is recorded under both, and nothing uses the first any
    more: both have one address, or people say that the host was renamed or made anew.
    """
    if by_cni(picture) or by_file(picture):
        return None
    known = [*picture.nodes_now(), *(setting.value for setting in picture.settings("name", "host"))]
    addresses: dict[str, set[str]] = {}
    for seen in picture.of(Registered):
        if seen.node:
            addresses.setdefault(seen.node, set()).add(seen.address)
    for short, full in split_names(picture.calico_nodes()):
        one, other = addresses.get(short, set()), addresses.get(full, set())
        if one and other and not one & other:
            continue  # two machines
        if not one & other and not picture.said("hostname-changed", "host-reinstalled"):
            continue
        if full in known and short not in known:
            return short, full
        if short in known and full not in known:
            return full, short
    return None


def drains_by_old_flag(picture: Picture) -> bool:
    """kubectl's flag for local data was renamed in Kubernetes 1.20."""
    version = picture.version("kubernetes") or picture.version("kubelet")
    return version is not None and version < (1, 20)
