"""Flags that several commands share, in calicoctl's spelling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from tortie.cli.settings import DEFAULT_FILE, SETTINGS, read_settings
from tortie.model.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., Any])

_FLAG_HELP = {
    "datastoreType": "embedded or etcdv3.",
    "store": "File of the embedded store.",
    "etcdEndpoints": "Comma-separated etcd URLs.",
    "etcdUsername": "etcd user; the password comes from ETCD_PASSWORD.",
    "etcdCACertFile": "CA that signed etcd's certificate.",
    "etcdCertFile": "Client certificate.",
    "etcdKeyFile": "Client key.",
}


def connection_options(command: Command) -> Command:
    """Adds the datastore flags and hands the command its `settings`."""

    def wrapped(*args: Any, config: str | None, **kwargs: Any) -> Any:
        import os

        flags = {setting.name: kwargs.pop(_parameter(setting.name)) for setting in SETTINGS if setting.flag}
        kwargs.pop("allow_version_mismatch")
        return command(*args, settings=read_settings(flags, os.environ, config), **kwargs)

    wrapped.__name__ = command.__name__
    wrapped.__doc__ = command.__doc__
    wrapped.__click_params__ = list(getattr(command, "__click_params__", []))  # type: ignore[attr-defined]
    result: Any = wrapped
    for setting in reversed(SETTINGS):
        if setting.flag:
            option = click.option(
                setting.flag, _parameter(setting.name), help=_FLAG_HELP[setting.name], metavar="VALUE"
            )
            result = option(result)
    result = click.option("--allow-version-mismatch", is_flag=True, help="Accepted; Tortie never refuses a version.")(
        result
    )
    with_config: Command = click.option(
        "-c", "--config", metavar="FILE", help=f"Configuration in calicoctl's format. [default: {DEFAULT_FILE}]"
    )(result)
    return with_config


def _parameter(name: str) -> str:
    return f"setting_{name.lower()}"


def output_option(default: str, forms: str) -> Callable[[Command], Command]:
    return click.option("-o", "--output", default=default, metavar="FORMAT", help=f"{forms}. [default: {default}]")


def file_options(command: Command) -> Command:
    command = click.option("--skip-empty", is_flag=True, help="Pass over files without resources.")(command)
    command = click.option("-R", "--recursive", is_flag=True, help="Go into folders below the folder.")(command)
    return click.option(
        "-f", "--filename", "filenames", multiple=True, metavar="FILE|DIR|-", help="YAML or JSON; - is standard input."
    )(command)


def namespace_option(command: Command) -> Command:
    return click.option("-n", "--namespace", metavar="NAME", help="Namespace of namespaced kinds. [default: default]")(
        command
    )


def one_source(kind: str | None, filenames: tuple[str, ...], usage: str) -> None:
    if bool(kind) == bool(filenames):
        what = "both a resource type and a file were given" if kind else "neither a resource type nor a file was given"
        raise UsageError(what, "one of the two says which resources are meant", f"for example: {usage}")
