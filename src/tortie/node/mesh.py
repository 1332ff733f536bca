"""The mesh: what the datastore says about BGP, kept true in this node's BIRD, and told as it is.

One loop. News of the datastore make a new plan; a look at BIRD puts right what is wrong with it; what is seen decides
whether the node is ready. While anything is unsettled it looks often, afterwards now and then.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from tortie.bgp.bird import Bird, Observation, Place
from tortie.bgp.bird_sessions import writable
from tortie.bgp.bird_text import bird_text
from tortie.bgp.plan import Plan, Refusal
from tortie.bgp.readiness import NEXT_HOP_S, NotReady, Seen
from tortie.bgp.sessions import plan, wanted_secrets
from tortie.health.health import Health
from tortie.health.state import Trouble
from tortie.host.kernel import FEATURES, find_features
from tortie.model.errors import TortieError
from tortie.model.network import Network, Route
from tortie.node.log import Log
from tortie.node.mesh_source import MeshSource
from tortie.node.mesh_view import MeshView, learnt
from tortie.node.paths import Paths
from tortie.node.patience import Gathering
from tortie.node.picture import NODES, key_of
from tortie.node.secrets import read_secrets
from tortie.node.settings import NodeSettings
from tortie.node.supervision import together
from tortie.store.contract import Store

NEED: Final = "bgp"
_LOOK_S: Final = 5.0
_LOOK_SOON_S: Final = 0.2
_SOON_PER_SESSION_S: Final = 0.01  # reading a hundred sessions takes longer than reading three
_CALM_MAX: Final = 10  # the longest pause is reached by then
# So many looks that find the same trouble are taken soon after each other; a peer that is gone may be gone for days.
_TROUBLED_LOOKS: Final = 50
# After so many attempts in vain a restart of everything may help, and nothing else will.
_GIVEN_UP_S: Final = 60.0
# What is over sooner is not for the log, and what changes all the time is there only now and then.
_LASTING_S: Final = 3.0
_TELL_APART_S: Final = 30.0
_IPIP_AGAIN_S: Final = 30.0
_BIRD_HAS_NEWS: Final = "State changed to"


class Mesh:
    def __init__(
        self,
        name: str,
        paths: Paths,
        store: Store,
        health: Health,
        log: Log,
        settings: Callable[[], NodeSettings],
        routes: Callable[[], Sequence[Route]],
        environment: Mapping[str, str],
        bird: type[Bird] = Bird,
    ) -> None:
        self._name = name
        self._paths = paths
        self._health = health
        self._log = log
        self._settings = settings
        self._kernel_routes = routes
        self._own_key = key_of("Node", name)
        self._source = MeshSource(name, store, health, log, self._heard)
        self._news = Gathering()
        self._look_at = math.inf  # when to look at BIRD again, whatever comes
        self._wake = asyncio.Event()  # one of the two is another one now
        self._plan: Plan | None = None
        self._outdated = True
        self._registered = True  # as far as the datastore says
        self._secrets: object = None
        self._has_ipip: bool | None = None
        self._ipip_at = 0.0
        self._wanted: dict[str, float] = {}  # since when each session has been wanted
        self._down: dict[str, float] = {}  # since when those that are not established have not been
        self._been_up: set[str] = set()  # those that have been established, with the BIRD of this process number
        self._been_up_with = 0
        self._learnt: tuple[int, tuple[Network, ...]] | None = None  # None while the kernel has not been asked
        self._nowhere: dict[Network, float] = {}  # since when a network has been without a next hop
        self._calm = 0  # looks in a row that found nothing to wait for
        self._same = 0  # looks in a row that found the same
        self._ailing_since: float | None = None
        self._refusals: tuple[Refusal, ...] = ()
        self._concerned_since: float | None = None
        self._told, self._told_at = "", -math.inf
        place = Place(paths.below("/etc/calico/confd/config/bird.cfg"), paths.below("/var/run/calico/bird.ctl"))
        self._bird = bird(
            place, dict(environment), say=lambda level, text: log.at(level, text, above=1), pass_on=self._bird_says
        )
        self._bird.on_end(self._look_now)
        self.view: MeshView | None = None  # the last one; others read it from their own threads
        self.changed = asyncio.Event()  # set with each new view

    def begin(self) -> None:
        """The node is not ready before BIRD has said that it is."""
        what = "BIRD is not ready: its sessions have not been decided yet"
        self._health.need(NEED, Trouble(what, "the node has only just been registered", "", "this node"))

    async def run(self) -> None:
        """For ever. BIRD goes on whatever happens here, until `stop`."""
        await together(self._source.run(), self._keep_right())

    def stop(self) -> None:
        self._bird.stop()

    async def _keep_right(self) -> None:
        await self._rest()
        while True:
            if time.monotonic() >= self._news.due:
                self._news.acted()
                self._outdated = True
            await self._decide()
            await self._look()
            self._look_at = time.monotonic() + self._next_look_s()
            await self._rest()

    def _heard(self, keys: tuple[str, ...]) -> None:
        """Most of what nodes write about themselves has nothing to do with BGP, and wakes nobody."""
        first = self._plan is None
        if keys or first:
            urgent = first or any(not key.startswith(NODES) or key == self._own_key for key in keys)
            self._news.hear(time.monotonic(), nodes=self._source.known.nodes, urgent=urgent)
            self._wake.set()

    def _bird_says(self, level: str, text: str) -> None:
        self._log.of_child("bird", level, text)
        if self._calm and _BIRD_HAS_NEWS in text:  # else somebody looks soon anyway
            self._look_now()

    async def _decide(self) -> None:
        cluster = self._source.known.cluster()
        if not self._is_registered(self._name in cluster.speakers):
            return
        secrets = read_secrets(self._paths, wanted_secrets(self._name, cluster))
        if any(pool.ipipMode not in ("", "Never") for pool in cluster.pools.values()):
            await self._find_ipip()
        if not self._outdated and secrets == self._secrets:
            return
        router_id = self._settings().router_id.value or ""
        decided = plan(
            self._name,
            cluster,
            secrets=secrets,
            router_id=router_id,
            has_ipip=self._has_ipip is not False,
            own_dataplane=not self._settings().disable_felix.value,
        )
        decided = writable(decided)
        self._bird.want(bird_text(decided))
        self._plan, self._secrets, self._outdated = decided, secrets, False
        now = time.monotonic()
        names = [session.name for session in decided.sessions]
        self._down = {
            name: self._down.get(name, now) for name in names if name in self._down or name not in self._wanted
        }
        self._wanted = {name: self._wanted.get(name, now) for name in names}
        self._complain(decided.refusals)

    def _is_registered(self, registered: bool) -> bool:
        """A record that somebody has deleted is written again; until then the sessions stay as they are."""
        if self._plan is None:
            return True
        if self._registered and not registered:
            self._log.warning(f"Node({self._name}) is not in the datastore; BGP goes on with what was known before")
        self._registered = registered
        return registered

    async def _find_ipip(self) -> None:
        """Who is told to load a module may do so."""
        now = time.monotonic()
        if self._has_ipip is None or (not self._has_ipip and now - self._ipip_at > _IPIP_AGAIN_S):
            before, self._has_ipip = self._has_ipip, await asyncio.to_thread(_kernel_has_ipip)
            self._ipip_at = now
            self._outdated = self._outdated or before is not self._has_ipip

    def _complain(self, refusals: tuple[Refusal, ...]) -> None:
        for refusal in refusals:
            if refusal not in self._refusals:
                self._log.warning(f"{refusal.what}: {refusal.why}. Fix: {refusal.fix}")
        for refusal in self._refusals:
            if refusal.what not in {each.what for each in refusals}:
                self._log.info(f"No longer so: {refusal.what}")
        self._refusals = refusals

    async def _look(self) -> None:
        assert self._plan is not None
        if self._learnt is None:
            self._read_routes()
        # Where nobody can tell whether there are routes of before, they are kept.
        observation = await self._bird.look(recover=self._learnt is None or self._learnt[0] > 0)
        self._read_routes()
        routes, nowhere = self._learnt or (0, ())
        before = self.view
        view = MeshView(self._plan, observation, self._sessions(observation), routes, self._lasting(nowhere))
        self._same = self._same + 1 if before and before.gist == view.gist else 0
        self.view = view
        self.changed.set()
        self._tell(view)

    def _read_routes(self) -> None:
        """From a kernel that is too busy to tell, what it told before; the agent itself tells what is wrong with it."""
        with suppress(TortieError):
            self._learnt = learnt(self._kernel_routes())

    def _sessions(self, observation: Observation) -> tuple[Seen, ...]:
        assert self._plan is not None
        now = time.monotonic()
        states = {state.name: state for state in observation.sessions}
        found = []
        if observation.pid != self._been_up_with:
            self._been_up_with, self._been_up = observation.pid, set()
        for session in self._plan.sessions:
            been_up = session.name in self._been_up
            seen = Seen(session, states.get(session.name), now - self._wanted[session.name], 0.0, been_up)
            if seen.up:
                self._been_up.add(session.name)
                self._down.pop(session.name, None)
            else:
                seen = seen._replace(down_s=now - self._down.setdefault(session.name, now))
            found.append(seen)
        return tuple(found)

    def _lasting(self, nowhere: tuple[Network, ...]) -> tuple[Network, ...]:
        now = time.monotonic()
        self._nowhere = {network: self._nowhere.get(network, now) for network in nowhere}
        return tuple(network for network, since in self._nowhere.items() if now - since > NEXT_HOP_S)

    def _tell(self, view: MeshView) -> None:
        bird, problem = view.bird, view.not_ready()
        if bird.status is not None:
            self._ailing_since = None
            self._health.component("bird", ready=None, detail=view.detail)
        else:
            self._ailing_since = self._ailing_since or time.monotonic()
            given_up = time.monotonic() - self._ailing_since > _GIVEN_UP_S
            self._health.component("bird", live=not given_up, ready=None, detail=view.detail)
        if problem:
            self._health.need(NEED, Trouble(*problem))
        else:
            self._health.met(NEED)
        self._note(problem or view.concern())

    def _note(self, concern: NotReady | None) -> None:
        """In the log."""
        now = time.monotonic()
        if concern is None:
            if self._told:
                self._log.info(f"No longer so: {self._told}")
            self._concerned_since, self._told, self._told_at = None, "", -math.inf
            return
        self._concerned_since = self._concerned_since or now
        lasting = now - self._concerned_since > _LASTING_S
        if lasting and concern.what != self._told and now - self._told_at > _TELL_APART_S:
            self._log.warning(f"{concern.what}: {concern.why}. Fix: {concern.fix}", fault=concern.fault)
            self._told, self._told_at = concern.what, now

    def _look_now(self) -> None:
        self._look_at = 0.0
        self._wake.set()

    async def _rest(self) -> None:
        """Until it is time to look, or to act upon news."""
        while (left_s := min(self._look_at, self._news.due) - time.monotonic()) > 0:
            self._wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left_s if left_s < math.inf else None):
                    await self._wake.wait()

    def _next_look_s(self) -> float:
        view = self.view
        assert view is not None
        soon_s = _LOOK_SOON_S + _SOON_PER_SESSION_S * len(view.sessions)
        # Routes follow their session: what has just settled is looked at again soon, then less and less often.
        calm = (view.settled and not self._nowhere) or self._same > _TROUBLED_LOOKS
        self._calm = min(self._calm + 1, _CALM_MAX) if calm else 0
        return min(soon_s * 2.0**self._calm, _LOOK_S)


def _kernel_has_ipip() -> bool:
    """True also where nobody can tell: a refusal has to be sure."""
    features = [feature for feature in FEATURES if feature.name == "ipip"]
    return find_features(features)[0].present is not False
