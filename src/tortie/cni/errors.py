"""Errors as the CNI specification numbers them, and how errors of other parts become such."""

from __future__ import annotations

from typing import Final

from tortie.model.errors import TortieError

VERSION: Final = 1  # the config's version is not spoken here
FIELD: Final = 2  # a field of the config is not supported
NO_CONTAINER: Final = 3  # the container or its namespace is not there
ENVIRONMENT: Final = 4  # a variable that the runtime sets is missing or makes no sense
INPUT: Final = 5  # the request could not be read, or something not be written
DECODING: Final = 6  # the config is not JSON
CONFIG: Final = 7  # the config makes no sense
SAME_NAMESPACE: Final = 8  # the pod's namespace is the node's own
LATER: Final = 11  # nothing is wrong with the request, it may be repeated
UNAVAILABLE: Final = 50  # STATUS: no pod can be added
LIMITED: Final = 51  # STATUS: pods can be added, but may not reach everything
# Of ours, from 100 on, as the specification leaves them to plugins.
FAILED: Final = 100  # something else, said in words
NO_ADDRESS: Final = 101  # no pool has an address left, or none may be used here
ADDRESS_TAKEN: Final = 102  # an address that was asked for belongs to somebody else
DIFFERENT: Final = 103  # CHECK found something else than was set up
KERNEL: Final = 104  # the kernel refused


class CniError(TortieError):
    """What a runtime is told, and logs: a number, what happened, and details with the way out."""

    code = "cni"

    def __init__(self, number: int, what: str, why: str = "", fix: str = "") -> None:
        super().__init__(what, why, fix)
        self.number = number

    @property
    def details(self) -> str:
        return ". Fix: ".join(part for part in (self.why, self.fix) if part)


# By the word that every error has, so that no part has to be loaded to speak of its errors.
_NUMBERS: Final = {
    **dict.fromkeys(("unreachable", "unauthorized", "conflict", "not-ready", "wrong-node"), LATER),
    **dict.fromkeys(("no-pool", "exhausted", "block-limit", "not-in-pool"), NO_ADDRESS),
    **dict.fromkeys(("already-assigned", "address-taken"), ADDRESS_TAKEN),
    "kernel": KERNEL,
}


def as_cni(error: TortieError) -> CniError:
    if isinstance(error, CniError):
        return error
    return CniError(_NUMBERS.get(error.code, FAILED), error.what, error.why, error.fix)
