"""Does deeds, undoes them, and says what is left of them: one doer for each kind of deed."""

from __future__ import annotations

from typing import Final

from tortie.lab.failures import Phrase
from tortie.lab.faults import deeds
from tortie.lab.faults.deeds import Deed
from tortie.lab.faults.doing_files import RemoveDoer, WriteDoer
from tortie.lab.faults.doing_mounts import CoverDoer, DiskDoer, SealDoer
from tortie.lab.faults.doing_network import AddressDoer, BridgeDoer, FilterDoer, KernelDoer, LinkDoer, NicDoer
from tortie.lab.faults.doing_processes import (
    HaltDoer,
    HelperDoer,
    LimitDoer,
    PodsDoer,
    RestartDoer,
    SignalDoer,
    VariableDoer,
)
from tortie.lab.faults.doing_store import DOERS
from tortie.lab.faults.hands import Doer, Hands, tag_of
from tortie.lab.faults.ledger import Memo

_DOERS: Final[dict[type, Doer]] = {
    deeds.AddBridge: BridgeDoer(),
    deeds.AddNic: NicDoer(),
    deeds.AddAddress: AddressDoer(),
    deeds.RemoveAddress: LinkDoer(),
    deeds.SetLink: LinkDoer(),
    deeds.Filter: FilterDoer(),
    deeds.SetKernel: KernelDoer(),
    deeds.WriteFile: WriteDoer(),
    deeds.RemoveFile: RemoveDoer(),
    deeds.CoverFile: CoverDoer(),
    deeds.FillDisk: DiskDoer(),
    deeds.SealFolder: SealDoer(),
    deeds.RunHelper: HelperDoer(),
    deeds.SendSignal: SignalDoer(),
    deeds.LimitCpu: LimitDoer(),
    deeds.SetVariable: VariableDoer(),
    deeds.RestartNode: RestartDoer(),
    deeds.RestartUnit: RestartDoer(),
    deeds.HaltMachine: HaltDoer(),
    **DOERS,
    deeds.RunPods: PodsDoer(),
}


def look(hands: Hands, ident: str, number: int, deed: Deed) -> Memo:
    """What is needed to undo the deed, and to prove it. Raises when that could not be done, or there is nothing to do.

    `ident` and `number`: of the struck fault, and of the deed in it.
    """
    return _DOERS[type(deed)].look(hands, tag_of(ident, number), deed)


def do(hands: Hands, ident: str, number: int, deed: Deed, memo: Memo) -> None:
    _DOERS[type(deed)].do(hands, tag_of(ident, number), deed, memo)


def undo(hands: Hands, ident: str, number: int, deed: Deed, memo: Memo) -> None:
    _DOERS[type(deed)].undo(hands, tag_of(ident, number), deed, memo)


def undone(hands: Hands, ident: str, number: int, deed: Deed, memo: Memo) -> list[Phrase]:
    """What remains of it; nothing when all is as before."""
    return _DOERS[type(deed)].undone(hands, tag_of(ident, number), deed, memo)
