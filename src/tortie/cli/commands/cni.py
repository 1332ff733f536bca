"""`tortie cni ...`: declared here, done in `tortie.cli.cni`."""

from __future__ import annotations

from typing import Any

from tortie.cli.grammar import Command, Option
from tortie.cli.options import output as output_option

_ROOT = Option(
    ("--root",),
    "root",
    "Folder below which all files of the node lie; TORTIE_ROOT.",
    "DIR",
    default="/",
    variable="TORTIE_ROOT",
)
_WHERE = (
    Option(
        ("--bin-dir",),
        "bin_folders",
        "Folder of plugins; may be repeated. Default: /opt/cni/bin, or /host/opt/cni/bin and /host/secondary-bin-dir "
        "where these are mounted.",
        "DIR",
        repeated=True,
    ),
    Option(
        ("--conf-dir",),
        "conf_folder",
        "Folder of configurations. Default: /etc/cni/net.d, or /host/etc/cni/net.d where it is mounted.",
        "DIR",
    ),
    Option(("--conf-name",), "conf_name", "File of the configuration; CNI_CONF_NAME, 10-calico.conflist.", "NAME"),
)
_DRY_RUN = Option(("--dry-run",), "dry_run", "Only show what would be done.")


def install(**values: Any) -> int:
    from tortie.cli.cni.install import install as install_plugin

    return install_plugin(**values)


def uninstall(**values: Any) -> int:
    from tortie.cli.cni.uninstall import uninstall as remove_plugin

    return remove_plugin(**values)


COMMAND = Command(
    summary="Install the CNI plugin on this machine.",
    commands={
        "install": Command(
            summary="Put plugins, configuration and, inside of a cluster, a kubeconfig in their places.",
            description="""Puts the plugins tortie, calico and calico-ipam, a configuration and, inside of a cluster, a
kubeconfig in their places; and, as Calico's image does, loopback, host-local, portmap, bandwidth and tuning, copied
from where the machine has them (loopback is Tortie's own where it has none). What somebody else put there stays.

Variables are those of Calico's install-cni: CNI_NETWORK_CONFIG or CNI_NETWORK_CONFIG_FILE, CNI_CONF_NAME,
CNI_OLD_CONF_NAME, CNI_MTU, CNI_NET_DIR, SKIP_CNI_BINARIES, UPDATE_CNI_BINARIES, KUBERNETES_SERVICE_HOST, _PORT and
_PROTOCOL, KUBERNETES_NODE_NAME, KUBE_CA_FILE, SKIP_TLS_VERIFY. Flags win.

Every file is replaced whole, and only if it is not right already. The configuration comes after everything that it
names, and an old one goes last. Exit code 0: done, or nothing to do; 4: done, but pods will not work yet; 1: not done;
2: the template or a setting makes no sense, and nothing was written.""",
            run=install,
            options=(
                *_WHERE,
                Option(
                    ("--template",),
                    "template",
                    "Configuration with __NAME__ where values belong. Default: CNI_NETWORK_CONFIG, "
                    "CNI_NETWORK_CONFIG_FILE, or a built-in one.",
                    "FILE",
                ),
                Option(
                    ("--python",),
                    "python",
                    "Have this interpreter run the plugins, and not the compiled program. Default: compiled where "
                    "there is a program for this machine; else the machine's interpreter, else ours.",
                    "PATH",
                ),
                Option(
                    ("--plugins-from",),
                    "plugin_sources",
                    "Folder of standard plugins to bring along; may be repeated. Default: /usr/lib/cni and "
                    "/usr/libexec/cni, below the root.",
                    "DIR",
                    repeated=True,
                ),
                Option(("--mtu",), "mtu", "MTU of pods; CNI_MTU. Default: as the node finds it out.", "N"),
                Option(
                    ("--kubeconfig",),
                    "kubeconfig",
                    "Name of the kubeconfig beside it. Default: calico-kubeconfig.",
                    "NAME",
                ),
                Option(
                    ("--service-account",),
                    "service_account",
                    "Folder with token and ca.crt. Default: where Kubernetes mounts it.",
                    "DIR",
                ),
                _DRY_RUN,
                Option(
                    ("--classic",),
                    "classic",
                    "Tell it as install-cni of this release of Calico does. For the lab only.",
                    "VERSION",
                ),
                output_option("text", "text", "json"),
                _ROOT,
            ),
            examples="""
                tortie cni install --dry-run --root node
                tortie cni install --root node --mtu 1450
                tortie cni install --root node --plugins-from /usr/lib/cni
                CNI_CONF_NAME=05-calico.conflist tortie cni install --root node -o json
            """,
        ),
        "uninstall": Command(
            summary="Take back what install put there, and nothing of anybody else's.",
            run=uninstall,
            options=(*_WHERE, _DRY_RUN, output_option("text", "text", "json"), _ROOT),
            examples="""
                tortie cni uninstall --dry-run --root node
            """,
        ),
    },
)
