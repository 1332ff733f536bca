"""Flags that several commands share, in calicoctl's spelling."""

from __future__ import annotations

from tortie.cli.global_flags import GLOBAL
from tortie.cli.grammar import Argument, Option
from tortie.cli.settings import DEFAULT_FILE, SETTINGS, TYPES
from tortie.model.errors import UsageError
from tortie.model.kinds import Kind, spoken_names
from tortie.model.light import Final

_FLAG_HELP = {
    "datastoreType": "embedded or etcdv3.",
    "store": "File of the embedded store.",
    "etcdEndpoints": "Comma-separated etcd URLs.",
    "etcdUsername": "etcd user; the password comes from ETCD_PASSWORD.",
    "etcdCACertFile": "CA that signed etcd's certificate.",
    "etcdCertFile": "Client certificate.",
    "etcdKeyFile": "Client key.",
}

# A command with these gets one parameter `settings` instead of them.
DATASTORE: Final = (
    Option(
        ("-c", "--config"),
        "config",
        f"Configuration in calicoctl's format; {DEFAULT_FILE} if it exists.",
        "FILE",
        group="Datastore",
    ),
    *(
        Option(
            (setting.flag,),
            setting.name,
            _FLAG_HELP[setting.name],
            "VALUE",
            choices=TYPES if setting.name == "datastoreType" else (),
            group="Datastore",
        )
        for setting in SETTINGS
        if setting.flag
    ),
    *GLOBAL,
)

FILES: Final = (
    Option(
        ("-f", "--filename"),
        "filenames",
        "YAML or JSON; - is standard input. May be repeated.",
        "FILE|DIR|-",
        repeated=True,
    ),
    Option(("-R", "--recursive"), "recursive", "Go into folders below the folder."),
    Option(("--skip-empty",), "skip_empty", "Pass over files without resources."),
)

NAMESPACE: Final = Option(("-n", "--namespace"), "namespace", "Namespace of namespaced kinds.", "NAME")


def output(default: str, *forms: str) -> Option:
    return Option(("-o", "--output"), "output", f"{', '.join(forms)}.", "FORMAT", default=default, choices=forms)


# Of commands that write: `text` is the usual sentence about what was done.
WRITTEN: Final = output(
    *("text", "text", "yaml", "json", "name"),
    *("jsonpath=TEMPLATE", "go-template=TEMPLATE", "go-template-file=FILE"),
)


def _complete_kind(typed: str, _values: dict[str, object]) -> list[str]:
    return [name for name in spoken_names() if name.startswith(typed.lower())]


def _complete_name(typed: str, values: dict[str, object]) -> list[str]:
    from tortie.cli.completion import stored_names

    return stored_names(typed, values)


def kind_argument(*, required: bool) -> Argument:
    return Argument("kind", "KIND", required, complete=_complete_kind)


def name_arguments() -> Argument:
    return Argument("names", "NAME", required=False, repeated=True, complete=_complete_name)


NAME_ARGUMENT: Final = Argument("name", "NAME", complete=_complete_name)


def one_source(kind: str | None, filenames: tuple[str, ...], usage: str) -> None:
    if bool(kind) == bool(filenames):
        what = "both a resource type and a file were given" if kind else "neither a resource type nor a file was given"
        raise UsageError(what, "one of the two says which resources are meant", f"for example: {usage}")


def scope_of(kind: Kind, namespace: str | None) -> str | None:
    """The namespace in which a kind is looked for; -n has no meaning for kinds without."""
    if kind.namespaced:
        return namespace or "default"
    if namespace:
        raise UsageError(f"{kind.name} is not namespaced", "-n has no meaning for it", "leave -n out")
    return None
