"""What a lab's pods really run, and how they are asked about their health: by the release of Calico that is played.

The one place for these command lines. "" is Tortie's own way.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tortie import __version__
from tortie.lab.kubelet.objects import Object, hurried

NODE: Final = ("tortie", "node", "run")
MIGRATE: Final = ("tortie", "ipam", "migrate")
MIGRATE_DEFAULT: Final = (*MIGRATE, "--or-leave")  # what cannot be taken over must not keep a node from starting
INSTALL: Final = ("tortie", "cni", "install")
CHECK: Final = ("tortie", "node", "check")
CONTROLLERS: Final = ("tortie", "controllers", "run")
CONTROLLERS_CHECK: Final = ("tortie", "controllers", "check")
NOTHING: Final = ("true",)  # of init containers that have no work to do in a lab
HEALTH_PORT: Final = 9099

# The last release of the line, or the one of the incidents; and the Kubernetes of its time
_CALICO: Final = {"2.6": "v2.6.5", "3.9": "v3.9.5", "3.11": "v3.11.1", "3.20": "v3.20.0", "3.28": "v3.28.0"}
_KUBERNETES: Final = (
    ((3, 28), "v1.29.6"),
    ((3, 24), "v1.24.17"),
    ((3, 20), "v1.21.14"),
    ((3, 9), "v1.18.2"),
    ((3, 0), "v1.12.10"),
    ((2, 0), "v1.9.6"),
)
_KUBERNETES_NOW: Final = "v1.31.4"


def numbers(classic: str) -> tuple[int, int]:
    """Major and minor of a release of Calico: of 3.20, v3.20 and v3.20.1."""
    parts = classic.removeprefix("v").split(".")
    return int(parts[0]), int(parts[1])


def calico_version(classic: str) -> str:
    """The tag of its images."""
    bare = classic.removeprefix("v")
    return f"v{bare}" if bare.count(".") == 2 else _CALICO.get(bare, f"v{bare}.0")


def kubelet_version(classic: str) -> str:
    if not classic:
        return _KUBERNETES_NOW
    release = numbers(classic)
    return next(version for since, version in _KUBERNETES if release >= since)


def kubernetes_minor(classic: str) -> int:
    return int(kubelet_version(classic).split(".")[1])


def image(name: str, classic: str) -> str:
    """`name` is what Calico calls it: node, cni, kube-controllers, pod2daemon-flexvol."""
    if not classic:
        return f"tortie/node:{__version__}"
    host = "docker.io/" if numbers(classic) >= (3, 14) else ""
    return f"{host}calico/{name}:{calico_version(classic)}"


def _of_release(words: tuple[str, ...], classic: str, *more: str) -> tuple[str, ...]:
    return (*words, "--classic", classic, *more) if classic else words


class Errand(NamedTuple):
    """An init container: its name, Calico's name of its image, and what it runs."""

    name: str
    image: str
    words: tuple[str, ...]


def errands(classic: str) -> tuple[Errand, ...]:
    """Init containers in their order."""
    if not classic:
        return (Errand("upgrade-ipam", "cni", MIGRATE_DEFAULT), Errand("install-cni", "cni", INSTALL))
    release = numbers(classic)
    install = Errand("install-cni", "cni", _of_release(INSTALL, classic))
    if release < (3, 0):  # there it is a second container beside calico-node; in a lab it only has to be done once
        return (install,)
    migrate = Errand("upgrade-ipam", "cni", _of_release(MIGRATE, classic))
    third = Errand("flexvol-driver", "pod2daemon-flexvol", NOTHING)
    if release >= (3, 24):
        third = Errand("mount-bpffs", "node", NOTHING)
    return (migrate, install, third)


def node_words(classic: str) -> tuple[str, ...]:
    return _of_release(NODE, classic)


def controllers_words(classic: str) -> tuple[str, ...]:
    return _of_release(CONTROLLERS, classic)


def node_probes(classic: str, hurry: int) -> Object:
    """Liveness and readiness of calico-node, with the numbers of Calico's manifests.

    Time-outs are not hurried: how long an answer takes is a matter of the machine, not of a clock.
    """
    liveness, readiness = _liveness(classic), _readiness(classic)
    patient = not classic or numbers(classic) >= (3, 20)
    timeout = {"timeoutSeconds": 10 if patient else 1}
    period = {"periodSeconds": hurried(10, hurry), "successThreshold": 1}
    return {
        "livenessProbe": liveness
        | {"initialDelaySeconds": hurried(10, hurry)}
        | timeout
        | period
        | {"failureThreshold": 6},
        "readinessProbe": readiness | timeout | period | {"failureThreshold": 3},
    }


def controllers_probes(classic: str, hurry: int) -> Object:
    readiness = _command(*_of_release(CONTROLLERS_CHECK, classic, "-r"))
    timeout = 1 if classic and numbers(classic) < (3, 20) else 10
    numbers_of = {"timeoutSeconds": timeout, "periodSeconds": hurried(10, hurry)}
    return {"readinessProbe": readiness | numbers_of | {"successThreshold": 1, "failureThreshold": 3}}


def _liveness(classic: str) -> Object:
    if not classic or numbers(classic) < (3, 9):
        return _page("/liveness", classic)
    asked = ("-felix-live", "-bird-live") if numbers(classic) >= (3, 11) else ("-felix-live",)
    return _command(*_of_release(CHECK, classic, *asked))


def _readiness(classic: str) -> Object:
    if not classic or numbers(classic) < (3, 2):
        return _page("/readiness", classic)
    asked = ("-felix-ready", "-bird-ready") if numbers(classic) >= (3, 9) else ("-bird-ready", "-felix-ready")
    return _command(*_of_release(CHECK, classic, *asked))


def _page(path: str, classic: str) -> Object:
    host = "localhost" if classic and numbers(classic) >= (3, 2) else "127.0.0.1"
    return {"httpGet": {"host": host, "path": path, "port": HEALTH_PORT, "scheme": "HTTP"}}


def _command(*words: str) -> Object:
    return {"exec": {"command": list(words)}}
