"""A play: an incident told while it happens. Only values; who performs it is `tortie.cli.lab.play`.

Every play has the same course: a cluster that is well, something that breaks it, what people then see, what the doctor
says of it, the healing, and a cluster that is well; where Tortie's own node does not suffer, that is shown as well.
What differs is written in the plays, what they share in `course`.
"""

from __future__ import annotations

from typing import NamedTuple

from tortie.lab.words import Pair


class Show(NamedTuple):
    """A command that is typed, and how much of its answer is shown.

    The command comes without `tortie` and without the lab's name. `{pod}` in it is the calico-node pod of the node
    that suffers, as it is called when the command is typed; `{pod node-1}` that of another one.
    """

    command: str
    grep: str = ""  # an extended regular expression: typed behind the command, so only lines with it are shown
    head: int = 0  # the same with `head`
    tail: int = 0  # and with `tail`
    until: str = ""  # a regular expression: asked again until it is found in the whole answer
    within_s: float = 45.0  # for how long
    awaits: Pair | None = None  # what is waited for, for whoever waits
    code: int | None = None  # what the command is to exit with; None: whatever it likes
    most: int = 16  # lines at most
    of_each_part: int = 0  # lines at most of each paragraph; 0: all
    table: bool = False  # columns that have no room are left out; otherwise lines that are too long are broken


class Act(NamedTuple):
    title: Pair
    says: Pair  # what happens; before the commands
    shows: tuple[Show, ...]
    look: Pair | None = None  # what to look at in the answers


class Play(NamedTuple):
    name: str  # of its fault, too
    title: Pair  # one line
    story: Pair  # to whom it happened
    flags: str  # of `tortie lab up`
    node: str  # that suffers; "" when all do
    acts: tuple[Act, ...]  # between the breaking and the doctor
    why: Pair  # after the doctor: what really happened
    prevention: Pair  # how it does not come again
    instead: Pair  # what Tortie's own node does
    own_flags: str = ""  # of `tortie lab up` for the last act, with nodes of Tortie's own; "": there is none
    own: tuple[Show, ...] = ()  # what is shown there beside pods that are ready
    settled_s: int = 10  # how old the pod has to be there, so that nobody can say it had no time to fail
    own_within_s: float = 45.0
