"""All causes, found by their modules: `nodes/trt1001_autodetect_wrong_interface` holds CAUSE of that code and id."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from functools import cache
from typing import Final

from tortie.doctor import causes as package
from tortie.doctor.causes.cause import Cause
from tortie.doctor.causes.shared import SYMPTOMS
from tortie.doctor.signs import Sign

# The first digit of a code is the place of its family here.
FAMILIES: Final = ("release", "nodes", "datastore", "agent", "kubelet", "ipam", "cni", "kernel", "firewall", "underlay")


@cache
def all_causes() -> tuple[Cause, ...]:
    """In the order of their codes."""
    modules = sorted((name, family) for family in FAMILIES for name in _modules(family))
    return tuple(importlib.import_module(f"{package.__name__}.{family}.{name}").CAUSE for name, family in modules)


def _modules(family: str) -> set[str]:
    names = os.listdir(os.path.join(package.__path__[0], family))
    return {name.partition(".")[0] for name in names if name.startswith("trt")}


@cache
def all_signs() -> tuple[Sign, ...]:
    """Each sign once; causes share some, and some only make symptoms."""
    felt = (sign for signs in SYMPTOMS.values() for sign in signs)
    return tuple({sign.key: sign for sign in (*felt, *(s for cause in all_causes() for s in cause.signs))}.values())


def needles() -> Iterator[str]:
    """What large logs are searched for."""
    return (sign.needle for sign in all_signs())


def cause_named(word: str) -> Cause | None:
    """By id or code, in any case."""
    wanted = word.strip().lower()
    return next((cause for cause in all_causes() if wanted in (cause.id, cause.code.lower())), None)
