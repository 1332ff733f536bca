"""Where the datastore is: flags, then a file of variables, then the environment, then calicoctl's file.

Each value knows its source.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping

from tortie.model.errors import Invalid, Problem, UsageError
from tortie.model.kinds import API_VERSION, nearest
from tortie.model.light import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from tortie.store.contract import CountingStore
    from tortie.store.etcd import EtcdConfig

DEFAULT_FILE: Final = "/etc/calico/calicoctl.cfg"
TYPES: Final = ("embedded", "etcdv3")


class Setting(NamedTuple):
    name: str  # as in the file's spec
    variable: str = ""  # the environment variable; each is also read with CALICO_ in front
    flag: str = ""
    secret: bool = False
    used: bool = True  # False: part of the file format, but of a datastore that Tortie does not speak yet


SETTINGS: Final = (
    Setting("datastoreType", "DATASTORE_TYPE", "--datastore-type"),
    Setting("store", "TORTIE_STORE", "--store"),
    Setting("etcdEndpoints", "ETCD_ENDPOINTS", "--etcd-endpoints"),
    Setting("etcdUsername", "ETCD_USERNAME", "--etcd-username"),
    Setting("etcdPassword", "ETCD_PASSWORD", secret=True),
    Setting("etcdCACertFile", "ETCD_CA_CERT_FILE", "--etcd-ca-cert-file"),
    Setting("etcdCertFile", "ETCD_CERT_FILE", "--etcd-cert-file"),
    Setting("etcdKeyFile", "ETCD_KEY_FILE", "--etcd-key-file"),
    Setting("etcdCACert"),
    Setting("etcdCert"),
    Setting("etcdKey", secret=True),
    Setting("etcdDiscoverySrv", "ETCD_DISCOVERY_SRV", used=False),
    Setting("kubeconfig", "KUBECONFIG", used=False),
    Setting("kubeconfigInline", secret=True, used=False),
    Setting("k8sAPIEndpoint", "K8S_API_ENDPOINT", used=False),
    Setting("k8sAPIToken", "K8S_API_TOKEN", secret=True, used=False),
    Setting("k8sKeyFile", "K8S_KEY_FILE", used=False),
    Setting("k8sCertFile", "K8S_CERT_FILE", used=False),
    Setting("k8sCAFile", "K8S_CA_FILE", used=False),
    Setting("k8sInsecureSkipTLSVerify", "K8S_INSECURE_SKIP_TLS_VERIFY", used=False),
    Setting("k8sClientQPS", "K8S_CLIENT_QPS", used=False),
    Setting("k8sClientBurst", "K8S_CLIENT_BURST", used=False),
    Setting("k8sCurrentContext", "K8S_CURRENT_CONTEXT", used=False),
    Setting("usePodCIDR", "USE_POD_CIDR", used=False),
    Setting("calicoAPIGroup", "CALICO_API_GROUP", used=False),
)
_BY_NAME: Final = {setting.name: setting for setting in SETTINGS}


class Value(NamedTuple):
    text: str
    source: str


class Settings(NamedTuple):
    values: dict[str, Value]
    log_level: str = ""  # what the command tells of what it does
    any_version: bool = False  # nobody wants to hear that the cluster has another release of Calico

    def get(self, name: str) -> str:
        return self.values[name].text if name in self.values else ""

    def source(self, name: str) -> str:
        return self.values[name].source


def read_settings(
    flags: Mapping[str, str | None],
    environment: Mapping[str, str],
    file: str | None = None,
    *,
    env_file: Mapping[str, tuple[str, str]] | None = None,
) -> Settings:
    """`flags` by setting name; `file` is what --config named, else TORTIE_CONFIG, else calicoctl's if there is one.

    An empty TORTIE_CONFIG stands for no file at all. `env_file` is text and source by variable, from a file that a
    person named: it wins over the environment, and its empty variables are taken out of there.
    """
    above = env_file or {}
    environment = {name: text for name, text in environment.items() if name not in above}
    variables = {**environment, **{name: text for name, (text, _) in above.items()}}
    file = file or variables.get("TORTIE_CONFIG")
    path = DEFAULT_FILE if file is None else file
    in_file = _read_file(path) if file or (file is None and os.path.exists(path)) else {}
    layers = [
        {
            setting.name: Value(text, f"flag {setting.flag}")
            for setting in SETTINGS
            if (text := flags.get(setting.name))
        },
        _from_variables({name: Value(*given) for name, given in above.items()}),
        _from_variables({name: Value(text, f"environment variable {name}") for name, text in environment.items()}),
        {name: Value(text, f"file {path}") for name, text in in_file.items()},
    ]
    values = {name: value for layer in reversed(layers) for name, value in layer.items()}
    values["datastoreType"] = _chosen_type(layers)
    _check_type(*values["datastoreType"])
    if values["datastoreType"].text == "embedded" and "store" not in values:
        values["store"] = Value(default_store_path(variables), "default")
    return Settings(values)


def _from_variables(given: Mapping[str, Value]) -> dict[str, Value]:
    found = {}
    for setting in SETTINGS:
        for variable in (setting.variable, f"CALICO_{setting.variable}"):
            value = given.get(variable) if setting.variable else None
            if value and value.text:
                found[setting.name] = value
    return found


def _chosen_type(layers: list[dict[str, Value]]) -> Value:
    """Calico's rule, with the embedded store where Calico would try Kubernetes.

    The strongest source that says anything about it decides: who passes --store never ends up in the etcd that a
    variable or a file names.
    """
    for layer in layers:
        endpoints, store = layer.get("etcdEndpoints"), layer.get("store")
        if "datastoreType" in layer:
            return layer["datastoreType"]
        if endpoints and store:
            raise UsageError(
                "two datastores are configured",
                f"{endpoints.source} names etcd, {store.source} names an embedded store",
                "say which one with DATASTORE_TYPE=etcdv3 or DATASTORE_TYPE=embedded",
            )
        if endpoints:
            return Value("etcdv3", f"because of {endpoints.source}")
        if store:
            return Value("embedded", f"because of {store.source}")
    return Value("embedded", "default")


def _check_type(kind: str, source: str) -> None:
    if kind == "kubernetes":
        raise UsageError(
            "the Kubernetes datastore is not supported by this version",
            f"{source} says kubernetes",
            "use DATASTORE_TYPE=etcdv3 with ETCD_ENDPOINTS, or the embedded store",
        )
    if kind not in TYPES:
        near = nearest(kind, TYPES)
        raise UsageError(
            f"unknown datastore type '{kind}'",
            f"{source} says so; there are {' and '.join(TYPES)}",
            f"did you mean {near}?" if near else f"use one of {', '.join(TYPES)}",
        )


def default_store_path(environment: Mapping[str, str]) -> str:
    if os.geteuid() == 0:
        return "/var/lib/tortie/store.db"
    state = environment.get("XDG_STATE_HOME") or os.path.join(environment.get("HOME") or "/", ".local", "state")
    return os.path.join(state, "tortie", "store.db")


def _read_file(path: str) -> dict[str, str]:
    """calicoctl's file, as strict as calicoctl is: an unknown field is an error."""
    try:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read config file: {path}",
            str(getattr(error, "strerror", None) or error),
            "check --config, or leave it out to use the environment",
        ) from None
    from tortie.model.manifest import read_plain

    file = read_plain(text, path)
    if problems := _file_problems(file.document):
        raise Invalid(path, file.located(problems))
    spec = file.document.get("spec") or {}
    return {name: _as_text(value) for name, value in spec.items() if value not in (None, "")}


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _file_problems(document: Any) -> list[Problem]:
    if not isinstance(document, dict):
        return [Problem("document", "", "is not a configuration", "apiVersion, kind, metadata and spec")]
    problems = []
    for field, right in (("apiVersion", API_VERSION), ("kind", "CalicoAPIConfig")):
        if document.get(field) != right:
            problems.append(Problem(field, document.get(field, ""), "is not that of calicoctl's file", right))
    problems += _unknown_fields(document, ("apiVersion", "kind", "metadata", "spec"), "")
    spec = document.get("spec") or {}
    if not isinstance(spec, dict):
        return [*problems, Problem("spec", "…", "a mapping of fields is needed here", "etcdEndpoints: http://…:2379")]
    for name, value in spec.items():
        if isinstance(value, dict | list):
            right = "text, several endpoints separated by commas"
            problems.append(Problem(f"spec.{name}", "…", f"a {type(value).__name__} is not a setting", right))
    return [*problems, *_unknown_fields(spec, _BY_NAME, "spec.")]


def _unknown_fields(found: dict[str, Any], known: Collection[str], path: str) -> Iterator[Problem]:
    """Values are not repeated: a password is a password under a misspelt name too."""
    for name in found:
        if name not in known:
            near = nearest(str(name), known)
            why = "field in document is not recognized or is in the wrong location"
            yield Problem(f"{path}{name}", "…", why, f"did you mean {near}?" if near else f"use {', '.join(known)}")


def etcd_config(settings: Settings) -> EtcdConfig:
    from tortie.store.etcd.config import EtcdConfig

    if not settings.get("etcdEndpoints"):
        raise UsageError(
            "no etcd endpoint is configured",
            f"{settings.source('datastoreType')} chooses etcdv3, but nothing says where it is",
            "set ETCD_ENDPOINTS=http://127.0.0.1:2379 or --etcd-endpoints",
        )
    for name in ("etcdEndpoints", "etcdUsername", "etcdPassword"):
        if not _is_text(settings.get(name)):
            raise UsageError(
                f"{name} is not text",
                f"{settings.source(name)} has bytes that are not UTF-8, so that it cannot be sent",
                "write the same in UTF-8",
            )
    return EtcdConfig(
        endpoints=tuple(part.strip() for part in settings.get("etcdEndpoints").split(",") if part.strip()),
        username=settings.get("etcdUsername") or None,
        password=settings.get("etcdPassword") or None,
        ca_file=settings.get("etcdCACertFile") or None,
        cert_file=settings.get("etcdCertFile") or None,
        key_file=settings.get("etcdKeyFile") or None,
        ca=settings.get("etcdCACert") or None,
        cert=settings.get("etcdCert") or None,
        key=settings.get("etcdKey") or None,
    )


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def open_store(settings: Settings, *, in_loop: bool = False) -> CountingStore:
    """`in_loop`: for a program whose event loop must go on turning while the store works.

    The others need no event loop: what they await never suspends, see `tortie.cli.session.finish`.
    """
    if settings.log_level in ("info", "debug"):
        from tortie.cli.logged import logged

        return logged(open_store(settings._replace(log_level=""), in_loop=in_loop), settings)
    if settings.get("datastoreType") == "etcdv3":
        if in_loop:
            from tortie.store.etcd.store import EtcdStore

            return EtcdStore(etcd_config(settings))
        from tortie.store.etcd.direct.store import DirectStore

        return DirectStore(etcd_config(settings))
    from tortie.store.embedded import EmbeddedStore, in_thread, inline

    return EmbeddedStore(settings.get("store"), offload=in_thread if in_loop else inline)
