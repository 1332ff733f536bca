"""Writing one key after the other, for stores that cannot write several at once: in an order in which a crash between
any two writes loses no address and gives none twice.

Affinities go through Calico's states: pending before the block is made, confirmed after it; pendingDeletion before the
block goes. Who gives out writes the handle first: one that counts too much is corrected by the next request for it, an
address without a handle would be found by nobody. Who takes back writes the block first.
"""

from __future__ import annotations

from tortie.ipam.block import Block, new_block
from tortie.ipam.draft import Trial, row_key, row_revision, written_block, written_handle
from tortie.ipam.encoding import write_affinity, write_block
from tortie.ipam.job import Job
from tortie.ipam.records import Affinity, State
from tortie.ipam.view import VIRTUAL_OWNER, View
from tortie.model.keys import block_key
from tortie.model.network import Network
from tortie.store.contract import ABSENT, Delete, Operation, Put, Revision, Store


async def carry_out(store: Store, view: View, job: Job, trial: Trial, timeout_s: float) -> bool:
    """Whether it is done; else it has to be planned again, on what stands there now."""
    writer = _Writer(store, view, job, trial, timeout_s)
    if trial.rows:
        for (owner, cidr), affinity in trial.rows.items():
            await (writer.claim(owner, cidr) if affinity else writer.give_up(owner, cidr))
        return not (trial.handles or trial.along) and {cidr for _, cidr in trial.rows} >= trial.blocks.keys()
    if job.giving:
        await writer.handles()
        await writer.blocks()
        await writer.along()
    else:
        await writer.along()
        await writer.blocks()
        await writer.handles()
    return True


class _Writer:
    def __init__(self, store: Store, view: View, job: Job, trial: Trial, timeout_s: float) -> None:
        self._store = store
        self._view = view
        self._job = job
        self._trial = trial
        self._timeout_s = timeout_s

    async def _commit(self, operation: Operation) -> Revision:
        return await self._store.commit([operation], timeout_s=self._timeout_s)

    async def claim(self, owner: str, cidr: Network) -> None:
        await self._row(owner, cidr, "pending")
        block = self._view.blocks.get(cidr)
        if block is None:
            await self._block(cidr, new_block(cidr, owner, self._trial.now), None)
        elif block.value.affinity == owner:
            await self._block(cidr, block.value.next_write(), block.revision)
        else:
            return  # the next plan sees that the claim is void, and takes it back
        await self._row(owner, cidr, "confirmed")

    async def give_up(self, owner: str, cidr: Network) -> None:
        block = self._view.blocks.get(cidr)
        if block and block.value.affinity == owner:
            await self._row(owner, cidr, "pendingDeletion")
            if block.value.is_empty:
                await self._commit(Delete(block_key(str(cidr)), block.revision))
                self._view.learn_block(cidr, None, 0)
            else:
                await self._block(cidr, block.value.without_affinity().next_write(), block.revision)
        revision = row_revision(self._view, owner, cidr)
        if revision:
            await self._commit(Delete(row_key(owner, cidr), revision))
        self._view.learn_row(owner, cidr, None, 0)

    async def _row(self, owner: str, cidr: Network, state: State) -> None:
        affinity = Affinity(owner.partition(":")[2], cidr, state, virtual=owner == VIRTUAL_OWNER)
        expecting = row_revision(self._view, owner, cidr) or ABSENT
        revision = await self._commit(Put(row_key(owner, cidr), write_affinity(affinity), expecting))
        self._view.learn_row(owner, cidr, affinity, revision)

    async def _block(self, cidr: Network, block: Block, expecting: Revision | None) -> None:
        put = Put(block_key(str(cidr)), write_block(block), ABSENT if expecting is None else expecting)
        revision = await self._commit(put)
        self._view.learn_block(cidr, block, revision)

    async def handles(self) -> None:
        for name, handle in self._trial.handles.items():
            for operation in written_handle(self._view, name, handle):
                if self._job.giving and self._job.written is None:
                    self._job.written = set()
                revision = await self._commit(operation)
                self._view.learn_handle(name, handle, revision)

    async def blocks(self) -> None:
        for cidr, block in self._trial.blocks.items():
            before = self._view.blocks.get(cidr)
            for operation in written_block(self._view, cidr, block):
                if self._job.written is not None and block:  # noted before: an answer may get lost
                    had = {holding.ip for holding in before.value.holdings()} if before else set()
                    self._job.written |= {holding.ip for holding in block.held_by(self._job.giving)} - had
                revision = await self._commit(operation)
                self._view.learn_block(cidr, block.next_write() if block else None, revision)

    async def along(self) -> None:
        for operation in self._trial.along:
            await self._commit(operation)
