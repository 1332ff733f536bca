"""The one door to all methods: from what is known to a choice with its reasons."""

from __future__ import annotations

from tortie.addressing.advice import advice
from tortie.addressing.agreed import agreed_choice
from tortie.addressing.calico import choose_like_calico
from tortie.addressing.choice import Choice, Surroundings
from tortie.addressing.methods import Agreed, Method
from tortie.addressing.standing import may_get_address
from tortie.addressing.versions import LATEST, CalicoVersion
from tortie.model.network import Family


def choose(method: Method, family: Family, surroundings: Surroundings, version: CalicoVersion = LATEST) -> Choice:
    """`version` says whose habits count; `agreed` has none."""
    if isinstance(method, Agreed):
        return agreed_choice(family, surroundings)
    choice = choose_like_calico(method, family, surroundings, version)
    if choice.chosen is not None:
        return choice
    # Calico would end here. Tortie says what to do, and waits for an interface that may still bring an address.
    network = surroundings.network
    pending = tuple(each.name for each in network.interfaces if may_get_address(each, network, family))
    return choice._replace(pending=pending, fix=advice(method, choice, family, surroundings, version))
