"""A plan as BIRD's configuration: pure text for BIRD 2, the same for the same plan.

The text names its own digest in a constant. BIRD tells it when asked (`eval tortie_digest`), so that whoever watches
BIRD can compare what runs with what shall run.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

from tortie.bgp import bird_words as words
from tortie.bgp.bird_export import export_functions
from tortie.bgp.bird_filters import filter_functions
from tortie.bgp.bird_kernel import kernel_protocols
from tortie.bgp.bird_sessions import session_protocols
from tortie.bgp.plan import Plan
from tortie.model.network import Family

RECOVERY_S: Final = 30  # how long BIRD waits for its neighbours after a graceful restart, before it cleans up
DIGEST_LENGTH: Final = 16
# One word, so that the columns of `show protocols` stay what they are.
TIME_FORMAT: Final = "%Y-%m-%dT%H:%M:%S"

_DIGEST_LINE: Final = re.compile(r'^define tortie_digest = "([0-9a-f]*)";$', re.MULTILINE)


def bird_text(plan: Plan) -> str:
    """The whole configuration. `Unwritable` if the plan holds what BIRD cannot; `writable` takes that out."""
    families = families_of(plan)
    parts = list(kernel_protocols(plan, families))
    for family in families:
        parts += filter_functions(plan.filters, family)
        parts += export_functions(plan, family)
    if plan.sessions:
        parts += session_protocols(plan, families)
    heading = f"""\
# BIRD's configuration on the node {words.remark(plan.node)}, written by tortie.
# It is written anew when the cluster changes. What shall last belongs into BGPConfigurations, BGPPeers and BGPFilters.
"""
    text = "\n".join([_settings(plan), *parts])
    return f'{heading}define tortie_digest = "{_hash(heading + text)}";\n{text}'


def digest(text: str) -> str:
    """The digest that a text names; "" for a text that is not one of ours."""
    named = _DIGEST_LINE.search(text)
    return named[1] if named else ""


def families_of(plan: Plan) -> tuple[Family, ...]:
    """The families of the node's addresses, and any other that it has to serve; never none."""
    needed: set[int] = {network.version for network in plan.networks}
    needed |= {session.family for session in plan.sessions}
    needed |= {block.version for block in plan.blocks}
    return tuple(family for family in (4, 6) if family in (needed or {4}))


def _settings(plan: Plan) -> str:
    debug = {"none": "", "debug": "debug protocols all;\n"}.get(plan.log_level, "debug protocols { states };\n")
    formats = "".join(f'timeformat {what} "{TIME_FORMAT}";\n' for what in ("base", "log", "protocol", "route"))
    return f"""\
log stderr all;
{formats}{debug}router id {plan.router_id};
graceful restart wait {RECOVERY_S};
"""


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]
