"""`tortie cni install`: plugins, configuration and kubeconfig in their places, as Calico's install-cni does it.

Everything is read and checked before the first file is written. What is right already is not touched.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tortie.cli.cni.carrying import carried_to, sources_in, versions_of
from tortie.cli.cni.placing import Placed, configurations_in, place, presents, programs_in
from tortie.cli.cni.telling import show
from tortie.cni.install import MODES, Step, Wanted, doubts, plan
from tortie.cni.install_carried import Source
from tortie.cni.install_conflist import CHAINED, Filled, built_in, fill, read_conflist
from tortie.cni.install_kubeconfig import Access, check_access, kubeconfig_text
from tortie.cni.install_settings import (
    MOUNTED_BIN_FOLDERS,
    MOUNTED_CONF_FOLDER,
    PLUGIN_SOURCES,
    PLUGINS,
    TLS_FOLDER,
    Flags,
    InstallSettings,
    read_install_settings,
)
from tortie.cni.shim import PYTHON, Shim, shim
from tortie.host.files import read_text
from tortie.model.errors import TortieError, UsageError
from tortie.model.wire import Document
from tortie.node.paths import Paths

if TYPE_CHECKING:
    from tortie.cli.cni.classic import ClassicTeller

_CERTIFICATES = {"etcd-ca": "__ETCD_CA_CERT_FILE__", "etcd-cert": "__ETCD_CERT_FILE__", "etcd-key": "__ETCD_KEY_FILE__"}
_PATH_MAX = 100
_ASK_S = 5.0


class _Configuration(NamedTuple):
    file: Wanted
    document: Document
    warnings: tuple[TortieError, ...]


def install(
    *, root: str, python: str | None, dry_run: bool, output: str, classic: str | None = None, **flags: Any
) -> int:
    if classic is None:
        return _install(None, root=root, python=python, dry_run=dry_run, output=output, **flags)
    from tortie.cli.cni.classic import ClassicTeller
    from tortie.node.classic.release import read_release

    teller = ClassicTeller(read_release(classic))
    try:
        return _install(teller, root=root, python=python, dry_run=dry_run, output=output, **flags)
    except TortieError as error:
        teller.failed(error)
        return 1


def _install(
    teller: ClassicTeller | None, *, root: str, python: str | None, dry_run: bool, output: str, **flags: Any
) -> int:
    if output not in ("text", "json"):
        raise UsageError(f"unrecognized output format '{output}'", "there is no such form", "use text or json")
    paths, environment = Paths(os.path.abspath(root)), os.environ  # the plugins are called from anywhere
    mounted = [path for path in (*MOUNTED_BIN_FOLDERS, MOUNTED_CONF_FOLDER) if os.path.isdir(paths.below(path))]
    given = Flags(**{name: value for name, value in flags.items() if value})
    settings = _below(read_install_settings(given, environment, mounted), paths, environment)
    notes: list[TortieError] = []
    access = _access(settings, environment, notes)
    certificates = list(_certificates(settings))
    interpreter = _checked(python) if python else _interpreter(settings)
    socket, state = paths.below("/run/tortie/cni.sock"), paths.below("/var/lib/tortie/cni")
    made = shim(socket, state, interpreter, compiled=python is None)
    sources = sources_in(given.plugin_sources or tuple(map(paths.below, PLUGIN_SOURCES)), made.loopback)
    carried = [
        step
        for folder in settings.bin_folders
        for step in carried_to(folder, sources, settings.skipped, update=settings.update)
    ]
    # A release of Calico that is played writes what that release wrote.
    versions = ("0.3.1",) if teller else ()
    chained = _chained(settings, sources)
    configuration = _configuration(settings, environment, access, certificates, chained, versions)
    plugins = _plugins(settings, made)
    wanted = [*certificates]
    if access:
        wanted.append(_wanted(_kubeconfig(settings), "kubeconfig", kubeconfig_text(access).encode()))
    wanted.append(configuration.file)
    old = os.path.join(settings.conf_folder, settings.old_conf_name) if settings.old_conf_name else ""
    programs = plan(plugins, presents(plugins), skipped=settings.skipped, update=settings.update)
    steps = [*programs, *carried, *plan(wanted, presents(wanted, old), old=old)]
    placed = [Placed(step) for step in steps] if dry_run else _placed(steps)
    if teller:
        teller.installed(placed)
        return 0
    troubles = {id(each.trouble): each.trouble for each in placed if each.trouble}
    notes += [*troubles.values(), *configuration.warnings, *_doubts(settings, configuration, placed)]
    show(placed, notes, dry_run=dry_run, output=output)
    return 4 if notes else 0


def _below(settings: InstallSettings, paths: Paths, environment: Mapping[str, str]) -> InstallSettings:
    return settings._replace(
        bin_folders=tuple(map(paths.below, settings.bin_folders)),
        conf_folder=paths.below(settings.conf_folder),
        conf_folder_seen=(
            settings.conf_folder_seen if environment.get("CNI_NET_DIR") else paths.below(settings.conf_folder_seen)
        ),
    )


def _access(settings: InstallSettings, environment: Mapping[str, str], notes: list[TortieError]) -> Access | None:
    """None outside of a cluster: then there is nobody to talk to, and no kubeconfig is needed."""
    host = environment.get("KUBERNETES_SERVICE_HOST", "").strip()
    if not host:
        return None
    token = _needed(f"{settings.service_account}/token")
    if not token:
        what = "no kubeconfig is written"
        why = f"KUBERNETES_SERVICE_HOST is set, but {settings.service_account}/token is not there or empty"
        fix = "give the pod a service account (automountServiceAccountToken), or name its folder: --service-account"
        notes.append(TortieError(what, why, fix))
        return None
    ca = None if settings.skip_tls_verify else _needed(settings.ca_file)
    if ca == "":
        why = f"there is no {settings.ca_file}, with which the API server's certificate would be checked"
        raise UsageError("no kubeconfig can be written", why, "set KUBE_CA_FILE, or SKIP_TLS_VERIFY=true")
    access = Access(
        (environment.get("KUBERNETES_SERVICE_PROTOCOL") or "https").strip(),
        host,
        (environment.get("KUBERNETES_SERVICE_PORT") or "443").strip(),
        token,
        ca.encode() if ca is not None else None,
    )
    check_access(access)
    return access


def _needed(path: str) -> str:
    return (read_text(path) or "").strip()


def _certificates(settings: InstallSettings) -> list[Wanted]:
    """etcd's, for plugins that talk to etcd themselves; those that are there, copied beside the configuration."""
    found = []
    for name in _CERTIFICATES:
        text = read_text(os.path.join(settings.tls_source, name))
        if text is not None:
            path = os.path.join(settings.conf_folder, TLS_FOLDER, name)
            found.append(_wanted(path, "certificate", text.encode()))
    return found


def _wanted(path: str, part: Any, content: bytes, mode: int | None = None) -> Wanted:
    return Wanted(path, part, content, MODES[part] if mode is None else mode)


def _kubeconfig(settings: InstallSettings) -> str:
    return os.path.join(settings.conf_folder, settings.kubeconfig)


def _plugins(settings: InstallSettings, made: Shim) -> list[Wanted]:
    origin = "compiled" if made.form == "compiled" else f"in Python: {made.why}"
    return [
        Wanted(os.path.join(folder, name), "plugin", made.content, MODES["plugin"], origin)
        for folder in settings.bin_folders
        for name in PLUGINS
    ]


def _chained(settings: InstallSettings, sources: Mapping[str, Source]) -> dict[str, str]:
    """Plugins to be chained that are in the first folder, or will be; and a file that can be asked what it speaks."""
    folder = settings.bin_folders[0]
    there = programs_in(folder)
    found: dict[str, str] = {}
    for name in CHAINED:
        if name in there:
            found[name] = os.path.join(folder, name)
        elif name in sources and name not in settings.skipped:
            found[name] = sources[name].origin.removeprefix("copy of ")
    return found


def _checked(python: str) -> str:
    """It stands in the first line of a program, which the kernel reads."""
    if not python.startswith("/") or any(character.isspace() for character in python) or len(python) > _PATH_MAX:
        why = f"the kernel takes an absolute path without blanks, of at most {_PATH_MAX} characters"
        raise UsageError(f"'{python}' cannot run the plugins", why, "for example --python /usr/bin/python3")
    return python


def _interpreter(settings: InstallSettings) -> str:
    """The machine's, which stays when ours is removed, and starts faster than those that people build; else ours."""
    if any(folder.startswith("/host/") for folder in settings.bin_folders) or _can_run_plugins(PYTHON):
        return PYTHON
    return os.path.realpath(sys.executable)


def _can_run_plugins(python: str) -> bool:
    import subprocess

    question = "import sys; sys.exit(sys.version_info < (3, 8))"
    try:
        return (
            subprocess.run([python, "-IS", "-c", question], timeout=_ASK_S, capture_output=True, check=False).returncode
            == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def _configuration(
    settings: InstallSettings,
    environment: Mapping[str, str],
    access: Access | None,
    certificates: list[Wanted],
    chained: Mapping[str, str],
    versions: Collection[str],
) -> _Configuration:
    seen = os.path.join(settings.conf_folder_seen, settings.kubeconfig)
    if settings.template or settings.template_file:
        source = "CNI_NETWORK_CONFIG" if settings.template else settings.template_file
        template = settings.template or _template(settings.template_file)
        filled = fill(template, _values(settings, environment, access, certificates, seen), source)
    else:
        source = "the built-in configuration"
        filled = Filled(
            built_in(
                mtu=settings.mtu,
                node_name=settings.node_name,
                kubeconfig=seen if access else "",
                chained=chained,
                versions=versions or versions_of(list(chained.values())),
            )
        )
    document = read_conflist(filled.text, settings.conf_name, source)
    path = os.path.join(settings.conf_folder, settings.conf_name)
    content = filled.text if filled.text.endswith("\n") else filled.text + "\n"
    file = _wanted(path, "configuration", content.encode(), 0o600 if filled.secret else None)
    return _Configuration(file, document, filled.warnings)


def _template(path: str) -> str:
    text = read_text(path)
    if text is None:
        raise UsageError(f"{path} cannot be read", "there is no such file", "check --template")
    return text


def _values(
    settings: InstallSettings,
    environment: Mapping[str, str],
    access: Access | None,
    certificates: list[Wanted],
    kubeconfig: str,
) -> dict[str, str]:
    import socket

    named = {
        name: environment.get(name.strip("_"), "")
        for name in ("__LOG_LEVEL__", "__LOG_FILE_PATH__", "__DATASTORE_TYPE__", "__ETCD_ENDPOINTS__")
    }
    named |= {
        name: environment.get(name.strip("_"), "")
        for name in ("__ETCD_DISCOVERY_SRV__", "__REQUIRE_MTU_FILE__", "__CALICO_API_GROUP__")
    }
    folder = os.path.join(settings.conf_folder_seen, TLS_FOLDER)
    files = {_CERTIFICATES[name]: f"{folder}/{name}" for name in (os.path.basename(file.path) for file in certificates)}
    return {
        **named,
        **files,
        "__KUBERNETES_NODE_NAME__": settings.node_name or socket.gethostname().lower(),
        "__CNI_MTU__": str(settings.mtu),
        "__KUBECONFIG_FILEPATH__": kubeconfig,
        "__SERVICEACCOUNT_TOKEN__": access.token if access else "",
        "__KUBERNETES_SERVICE_HOST__": access.host if access else environment.get("KUBERNETES_SERVICE_HOST", ""),
        "__KUBERNETES_SERVICE_PORT__": access.port if access else environment.get("KUBERNETES_SERVICE_PORT", ""),
    }


def _placed(steps: list[Step]) -> list[Placed]:
    of_plugins = ("plugin", "record")
    plugins = place([step for step in steps if step.part in of_plugins])
    _refuse_without_plugins(plugins)
    return [*plugins, *place([step for step in steps if step.part not in of_plugins])]


def _refuse_without_plugins(placed: list[Placed]) -> None:
    """One folder that has them all is enough; with none, runtimes would find a configuration and no plugin."""
    complete = {os.path.dirname(each.step.path) for each in placed if each.step.part == "plugin"}
    troubles = [each.trouble for each in placed if each.trouble]
    complete -= {os.path.dirname(each.step.path) for each in placed if each.trouble}
    if not complete:
        why = "\n".join(dict.fromkeys(f"{trouble.what}: {trouble.why}" for trouble in troubles))
        fix = "\n".join(dict.fromkeys(trouble.fix for trouble in troubles))
        raise TortieError("found no writeable directory, exiting", why, fix)


def _doubts(settings: InstallSettings, configuration: _Configuration, placed: list[Placed]) -> list[TortieError]:
    there = {os.path.basename(each.step.path) for each in placed if each.step.wanted}
    for folder in settings.bin_folders:
        there |= programs_in(folder)
    files = configurations_in(settings.conf_folder)
    others = {name: told for name, told in files.items() if name not in (settings.conf_name, settings.old_conf_name)}
    document, path = configuration.document, configuration.file.path
    return list(doubts(document, path, others, there, settings.bin_folders[0], skipped=settings.skipped))
