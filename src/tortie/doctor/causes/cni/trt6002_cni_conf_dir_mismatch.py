"""TRT6002: install-cni writes one directory, the runtime reads another one with old files."""

from __future__ import annotations

from tortie.doctor.causes.cni.cni_evidence import (
    CONF_DIR,
    DIRECTORY_SIGNS,
    KUBECONFIG,
    NO_NETWORK_CONFIG,
    NO_NETWORKS,
    NOT_INITIALIZED,
    Directory,
    is_conf_dir,
    is_own,
    kubeconfigs,
    mounted_conf_dirs,
    node_of,
    runtime_conf_dirs,
)
from tortie.doctor.causes.cni.file_times import written_at
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
from tortie.doctor.causes.shared import UNAUTHORIZED
from tortie.doctor.picture.facts import HostFile
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit
from tortie.doctor.words import Words

APART_S = 3_600.0  # two copies written by one install-cni are seconds apart


def judge(picture: Picture) -> Finding:
    runtime, mounted = runtime_conf_dirs(picture), mounted_conf_dirs(picture)
    errors = picture.hits(UNAUTHORIZED, NOT_INITIALIZED, NO_NETWORKS, NO_NETWORK_CONFIG)
    copies = _copies(picture)
    fresh = _fresh_elsewhere(runtime, copies) if errors else []
    written = mounted or fresh or _written(picture)
    if runtime and written:
        reads, writes = runtime[-1], written[-1]
        if _same(reads.path, writes.path, _links(picture, reads.host)):
            return ruled_out(
                Words(
                    f"runtime and DaemonSet use one directory: {reads.path}",
                    f"运行时与 DaemonSet 使用同一目录：{reads.path}",
                ),
                (reads, writes),
            )
        strength = PROVEN if mounted else STRONG if fresh else LIKELY
        return _mismatch(picture, strength, reads, writes, errors)
    if copies:
        old, new = copies
        reads, writes = Directory(old.folder.rstrip("/"), old.place), Directory(new.folder.rstrip("/"), new.place)
        return _mismatch(picture, STRONG if errors else POSSIBLE, reads, writes, errors)
    other = [d for d in runtime if d.path != CONF_DIR]
    if other and errors:
        return _mismatch(picture, POSSIBLE, other[-1], Directory(CONF_DIR, other[-1].place), errors)
    return cannot_tell(
        Words(
            "the runtime's directory and the DaemonSet's are not both shown",
            "没有同时看到运行时与 DaemonSet 的 CNI 目录",
        )
    )


def _mismatch(picture: Picture, strength: float, reads: Directory, writes: Directory, errors: list[Hit]) -> Finding:
    why = Words(
        f"The runtime reads {reads.path}, but install-cni writes {writes.path}.",
        f"运行时读取 {reads.path}，而 install-cni 写入 {writes.path}。",
    )
    node = node_of(picture.hits(UNAUTHORIZED, NOT_INITIALIZED), picture)
    objects = (reads.path, writes.path, "conf_dir", f"{reads.path}/{KUBECONFIG}", node or reads.host)
    return found(strength, why, objects, (reads, writes, *errors[:2]), reads=reads.path, writes=writes.path, node=node)


def _written(picture: Picture) -> list[Directory]:
    """Where Calico's files lie, when the DaemonSet is not shown and there is just one such place."""
    folders = {f.folder.rstrip("/"): f for f in picture.of(HostFile) if is_conf_dir(f.folder) and is_own(f.name)}
    read = {directory.path for directory in runtime_conf_dirs(picture)}
    elsewhere = [Directory(folder, file.place) for folder, file in folders.items() if folder not in read]
    if len(folders) == 1 and not elsewhere:
        return [Directory(folder, file.place) for folder, file in folders.items()]
    return elsewhere[-1:]


def _fresh_elsewhere(runtime: list[Directory], copies: tuple[HostFile, HostFile] | None) -> list[Directory]:
    """The runtime reads the older one of two kubeconfigs: the younger one is what install-cni writes now."""
    if not copies or not runtime or copies[0].folder.rstrip("/") != runtime[-1].path:
        return []
    return [Directory(copies[1].folder.rstrip("/"), copies[1].place, copies[1].host)]


def _copies(picture: Picture) -> tuple[HostFile, HostFile] | None:
    """Two kubeconfigs of one host in two directories, the older first."""
    files = [(file, at) for file in kubeconfigs(picture) if file.folder and (at := written_at(picture, file))]
    for one, earlier in files:
        for two, later in files:
            apart = later - earlier > APART_S
            if apart and one.folder.rstrip("/") != two.folder.rstrip("/") and one.host == two.host:
                return one, two
    return None


def _links(picture: Picture, host: str) -> dict[str, str]:
    """Links of the machine whose runtime is asked; how it is on a good machine says nothing about this one."""
    links = {}
    for file in picture.of(HostFile):
        if file.link_to and (not host or not file.host or file.host == host):
            path = file.name if file.name.startswith("/") else f"{file.folder.rstrip('/')}/{file.name}"
            links[path.rstrip("/")] = file.link_to.rstrip("/")
    return links


def _same(one: str, two: str, links: dict[str, str]) -> bool:
    return one == two or links.get(one) == two or links.get(two) == one


def fix(_picture: Picture, finding: Finding) -> tuple[Step, ...]:
    reads, writes = finding.value("reads", "<runtime's directory>"), finding.value("writes", "<DaemonSet's directory>")
    return (
        Step(Words("Keep the stale copies aside", "先移走旧文件"), f"mv {reads} {reads}.old", "disruptive"),
        Step(
            Words("Let the runtime read what install-cni writes", "让运行时读取 install-cni 写入的目录"),
            f"ln -s {writes} {reads}",
            "disruptive",
        ),
        Step(
            Words(
                "Or align conf_dir of the runtime with the DaemonSet's cni-net-dir, in provisioning too",
                "或统一运行时 conf_dir 与 DaemonSet 的 cni-net-dir，并写入装机配置",
            ),
            "grep -n conf_dir /etc/containerd/config.toml",
        ),
        Step(
            Words("Restart the runtime; drain the node first", "重启运行时；先 drain 节点"),
            "systemctl restart containerd",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="cni-conf-dir-mismatch",
    code="TRT6002",
    severity="high",
    name=Words("runtime reads another CNI directory", "运行时读取的 CNI 目录不同"),
    what=Words(
        "install-cni writes its files into one directory and the runtime reads another one, where old files lie.",
        "install-cni 写入一个目录，而运行时读取另一个存有旧文件的目录。",
    ),
    explains=("sandbox-failed", "pod-pending", "terminating-stuck", "unauthorized", "node-not-ready", "no-address"),
    look_alikes=(
        ("cni-token-expired", Words("there the runtime reads the file that is old", "那时运行时读取的就是该旧文件")),
        ("stale-cni-config", Words("there foreign files lie in the same directory", "那时外来文件在同一目录")),
        ("cni-binary-missing", Words("there the directory of binaries differs", "那时不一致的是二进制目录")),
    ),
    signs=(UNAUTHORIZED, NOT_INITIALIZED, NO_NETWORKS, NO_NETWORK_CONFIG, *DIRECTORY_SIGNS),
    judge=judge,
    ask=Ask(
        "crictl info | grep -i -e confDir -e binDir; ls -ld /etc/cni/net.d; "
        "kubectl -n <ns> get ds calico-node -o yaml | grep -B1 -A2 cni-net-dir",
        Words("two different paths, and no link between them, decide", "两个路径不同且没有软链接即可确定"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("Both are one directory", "两者为同一目录"), "crictl info | grep -i confDir; ls -ldi /etc/cni/net.d"
        ),
    ),
    prevent=(Words("Provision one directory, and check it.", "装机时统一目录并做检查。"),),
)
