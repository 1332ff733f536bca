"""Every flag that `calicoctl COMMAND --help` of v3.32.1 shows is one of ours."""

from __future__ import annotations

import pytest

from tortie.cli.global_flags import with_globals
from tortie.cli.main import find_command

FILES = "-f --filename -R --recursive --skip-empty"
SHARED = "-h --help -c --config --allow-version-mismatch"
NAMED = f"{SHARED} -n --namespace --context"
FLAGS = {
    "get": f"{FILES} {NAMED} -o --output -A --all-namespaces --export",
    "create": f"{FILES} {NAMED} --skip-exists",
    "apply": f"{FILES} {NAMED}",
    "replace": f"{FILES} {NAMED}",
    "delete": f"{FILES} {NAMED} -s --skip-not-exists",
    "patch": f"{NAMED} -p --patch -t --type --skip-not-exists",
    "label": f"{NAMED} --overwrite --remove",
    "validate": f"{FILES} -h --help --allow-version-mismatch",
    "version": f"{SHARED} --poll --client",
    "ipam show": f"{SHARED} --ip --show-blocks --show-borrowed --show-configuration",
    "ipam check": f"{SHARED} -o --output --show-all-ips --show-problem-ips --kubeconfig",
    "ipam release": f"{SHARED} --ip --from-report --force",
    "ipam split": f"{SHARED} --cidr --name",
    "ipam configure": f"{SHARED} --strictaffinity --max-blocks-per-host --kubevirt-ip-persistence",
    "datastore migrate export": SHARED,
    "datastore migrate import": f"{SHARED} -f --filename",
    "datastore migrate lock": SHARED,
    "datastore migrate unlock": SHARED,
    "node status": "-h --help --allow-version-mismatch",
    "node diags": "-h --help --log-dir --allow-version-mismatch",
    "node checksystem": "-h --help -f --kernel-config --allow-version-mismatch",
    "node run": (
        f"{SHARED} --name --as --ip --ip6 --ip-autodetection-method --ip6-autodetection-method --log-dir --node-image "
        "--backend --dryrun --init-system --no-default-ippools --felix-config"
    ),
    "cluster diags": (f"{SHARED} --since --max-logs --max-parallelism --focus-nodes --skip-temp-dir-cleanup"),
}


@pytest.mark.parametrize("path", FLAGS)
def test_every_flag_of_calicoctl_is_known(path: str) -> None:
    first, *rest = path.split()
    command = find_command(first)
    for word in rest:
        command = command.commands[word]
    ours = {flag for option in with_globals(command).options for flag in option.flags} | {"-h", "--help"}
    assert set(FLAGS[path].split()) <= ours
    assert {"-l", "--log-level"} <= ours
