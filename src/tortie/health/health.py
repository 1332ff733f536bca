"""The health of this node, told by whoever does the work and read by the page that answers probes.

Safe between threads: the event loop writes, the page's thread reads. A reader takes the present state, which never
changes, and so waits for nobody, least of all for an event loop that hangs.
"""

from __future__ import annotations

from _thread import RLock
from collections.abc import Callable

from tortie.health.state import Fault, State, Trouble, at_launch
from tortie.health.verdict import Report, judge


class Health:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._launched = clock()
        self.on_verbose: Callable[[], None] = lambda: None  # called when a person asks the page for everything
        self._state = at_launch(clock())
        # A signal handler may bring news in the middle of other news; it must not wait for itself.
        self._lock = RLock()

    def begin(self, phase: str, bound_s: float, doing: str = "", waits_for: Fault = "this node") -> None:
        """Enters a phase of the start, in which something must move within `bound_s`, again and again."""
        self._become(lambda state, now: state.begin(now, phase, bound_s, doing, waits_for))

    def progress(self, doing: str = "") -> None:
        self._become(lambda state, now: state.progress(now, doing))

    def trouble(self, trouble: Trouble) -> None:
        """An attempt has failed. That is movement: what fails, ends."""
        self._become(lambda state, now: state.failed(now, trouble))

    def resolved(self) -> None:
        self._become(lambda state, _: state.resolved())

    def count(self, op: str) -> None:
        """One round trip to the datastore in the present phase."""
        self._become(lambda state, _: state.counted(op))

    def need(self, name: str, trouble: Trouble) -> None:
        """The node is not ready until this is met."""
        self._become(lambda state, now: state.need(now, name, trouble))

    def met(self, name: str) -> None:
        self._become(lambda state, _: state.met(name))

    def remark(self, name: str, texts: tuple[str, ...]) -> None:
        """What people shall know who ask for everything; it says nothing about ready or live."""
        self._become(lambda state, _: state._replace(remarks={**state.remarks, name: texts}))

    def started(self) -> None:
        self._become(lambda state, now: state.started(now))

    def loop_bound(self, bound_s: float | None) -> None:
        """How long the event loop may go without a beat; None while it is not expected to turn, as at the end."""
        self._become(lambda state, _: state._replace(loop_bound_s=bound_s))

    def beat(self) -> None:
        self._become(lambda state, now: state._replace(beaten=now))

    def component(
        self,
        name: str,
        *,
        live: bool | None = True,
        ready: bool | None = True,
        detail: str = "",
        timeout_s: float | None = None,
    ) -> None:
        """A named part reports; None for what it says nothing about. With a timeout it must report again in time."""
        self._become(lambda state, now: state.report(now, name, live, ready, detail, timeout_s))

    def drop(self, name: str) -> None:
        self._become(lambda state, _: state.drop(name))

    def age_s(self) -> float:
        """Of the process."""
        return self._clock() - self._launched

    def report(self) -> Report:
        return judge(self._state, self._clock())

    def _become(self, news: Callable[[State, float], State]) -> None:
        with self._lock:
            self._state = news(self._state, self._clock())
