"""What Calico of some version would register here: its table of settings, stored address and autodetection, replayed.

Calico never waits and never weighs: what it does not find at once ends its start, unless an address is stored.
"""

from __future__ import annotations

from tortie.addressing.calico import choose_like_calico, since
from tortie.addressing.choice import Choice, Surroundings
from tortie.addressing.decision import AddressDecision, AddressSetting, Habits, decide, wants_choice
from tortie.addressing.methods import FIRST_FOUND, Agreed, Method
from tortie.addressing.versions import INTERFACE_PREFIX_SINCE, CalicoVersion
from tortie.model.network import CIDR, Family


def calico_decision(
    family: Family,
    setting: AddressSetting,
    stored: CIDR | None,
    method: Method,
    surroundings: Surroundings,
    version: CalicoVersion,
) -> tuple[Choice | None, AddressDecision]:
    """The choice is None where no autodetection runs. Tortie's own method is unknown to Calico: its default runs."""
    # Calico meets the interface with the highest index first, wherever it looks an address up.
    network = surroundings.network._replace(interfaces=surroundings.network.interfaces[::-1])
    habits = Habits(interface_prefix=family == 4 and version >= INTERFACE_PREFIX_SINCE, compares_prefix=False)
    if not wants_choice(family, setting, stored):
        return None, decide(family, setting, stored, None, network, habits)
    theirs = FIRST_FOUND if isinstance(method, Agreed) else method
    choice = choose_like_calico(theirs, family, surroundings, version)
    if version < since(theirs):
        # A word that it cannot read ends its start whatever is stored.
        fix = f"choose a method that {version} knows, or run {since(theirs)} or later"
        ended = AddressDecision(None, "", "none", False, False, choice.failure, fix, choice.messages)
        return choice._replace(fix=fix), ended
    return choice, decide(family, setting, stored, choice, network, habits)
