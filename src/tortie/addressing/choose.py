"""The one door to all methods: from what is known to a choice with its reasons."""

from __future__ import annotations

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
    return choice if choice.chosen is not None else _with_advice(choice, family, surroundings)


def _with_advice(choice: Choice, family: Family, surroundings: Surroundings) -> Choice:
    """Calico would end here. What Tortie would have taken is the best that can be told to whom the method failed."""
    network = surroundings.network
    pending = tuple(each.name for each in network.interfaces if may_get_address(each, network, family))
    better = agreed_choice(family, surroundings)
    variable = "IP" if family == 4 else "IP6"
    if better.chosen is not None:
        found = f"{better.chosen} on {better.interface}"
        fix = (
            f"choose a method that finds {found}, such as {variable}_AUTODETECTION_METHOD=cidr={better.chosen.network}"
        )
    else:
        fix = better.fix
    return choice._replace(pending=pending, fix=fix)
