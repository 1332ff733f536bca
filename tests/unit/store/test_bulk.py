"""Many resources at once: what is read together, what may go out together, and who waits for whom."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tortie.cli.session import finish
from tortie.model.errors import TortieError
from tortie.model.kinds import BY_NAME
from tortie.model.wire import Document
from tortie.store.bulk import Identity, keys_of, portions
from tortie.store.contract import Operation, Put, Revision, put
from tortie.store.embedded import EmbeddedStore, inline
from tortie.store.resources import AlreadyExists, Resources
from tortie.store.side_by_side import commit_each
from tortie.store.together import Together


def of(kind: str, *names: str) -> list[Identity]:
    return [(BY_NAME[kind], name, "default" if BY_NAME[kind].namespaced else None) for name in names]


def test_what_depends_on_nothing_goes_out_together() -> None:
    identities = [*of("GlobalNetworkSet", "a", "b"), *of("NetworkSet", "a"), *of("HostEndpoint", "a")]
    assert list(portions(identities)) == [[0, 1, 2, 3]]


def test_what_others_are_judged_by_comes_first_and_goes_last() -> None:
    identities = [*of("GlobalNetworkPolicy", "p"), *of("Tier", "t", "u"), *of("BGPPeer", "b"), *of("BGPFilter", "f")]
    assert list(portions(identities)) == [[1, 2], [4], [0, 3]]
    assert list(portions(identities, deleting=True)) == [[0, 3], [4], [2, 1]]


def test_what_is_judged_by_each_other_goes_alone() -> None:
    assert list(portions(of("IPPool", "a", "b"))) == [[0], [1]]


def test_one_resource_is_never_twice_in_a_portion_and_no_portion_is_too_large() -> None:
    names = [str(number) for number in range(1200)]
    found = list(portions(of("GlobalNetworkSet", "a", "b", "a", *names)))
    assert found[0] == [0, 1]
    assert sorted(place for each in found for place in each) == list(range(1203))
    assert max(map(len, found)) == 1000


def test_the_keys_of_policies_are_read_by_both_their_names_and_with_the_cluster() -> None:
    base = "/calico/resources/v3/projectcalico.org/"
    assert keys_of(of("GlobalNetworkPolicy", "web")) == {
        f"{base}globalnetworkpolicies/": [
            f"{base}globalnetworkpolicies/web",
            f"{base}globalnetworkpolicies/default.web",
        ],
        f"{base}clusterinformations/": [f"{base}clusterinformations/default"],
    }


class Watched(EmbeddedStore):
    """Counts what it is asked, and lets somebody else write right before a commit."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, offload=inline)
        self.asked: list[str] = []
        self.meanwhile: list[Put] = []

    async def get(self, key: str, **options: Any) -> Any:
        self.asked.append("get")
        return await super().get(key, **options)

    async def snapshot(self, keys: Sequence[str], prefixes: Sequence[str] = (), **options: Any) -> Any:
        self.asked.append("snapshot")
        return await super().snapshot(keys, prefixes, **options)

    async def commit_each(
        self, commits: Sequence[Sequence[Operation]], *, timeout_s: float, meanwhile: Callable[[], bool]
    ) -> list[Any]:
        self.asked.append(f"commits {len(commits)}")
        while meanwhile():
            self.asked.append("other work")
        for each in self.meanwhile:
            await put(self, each.key, each.value)
        self.meanwhile.clear()
        found: list[Revision | TortieError] = []
        for operations in commits:
            try:
                found.append(await self.commit(operations, timeout_s=timeout_s))
            except TortieError as error:
                found.append(error)
        return found


def network_set(name: str, *nets: str) -> Document:
    return {
        "apiVersion": "projectcalico.org/v3",
        "kind": "GlobalNetworkSet",
        "metadata": {"name": name},
        "spec": {"nets": list(nets)},
    }


def written(store: Watched, verb: Any, documents: list[Document]) -> list[Document | TortieError]:
    """As a command does it, without an event loop."""

    async def whole() -> list[Document | TortieError]:
        together = Together(store)
        identities = [(BY_NAME[each["kind"]], each["metadata"]["name"], None) for each in documents]
        await together.look_ahead(keys_of(identities))
        found = await together.run([partial(verb, Resources(together), document) for document in documents])
        return list(found)

    return finish(whole())


def test_many_new_ones_cost_one_look_and_go_out_together(tmp_path: Path) -> None:
    store = Watched(tmp_path / "store.db")
    documents = [network_set(f"s{number}", "10.0.0.0/8") for number in range(100)]
    found = written(store, Resources.apply, documents)
    assert store.asked == ["snapshot", "commits 100"]
    assert [each["metadata"]["name"] for each in found if isinstance(each, dict)] == [f"s{n}" for n in range(100)]
    store.asked.clear()
    assert written(store, Resources.apply, documents) == found
    assert store.asked == ["snapshot"], "nothing has changed, so nothing is written"


def test_who_was_overtaken_reads_again_and_the_others_do_not(tmp_path: Path) -> None:
    store = Watched(tmp_path / "store.db")
    finish(put(store, "/warm", b""))
    (first,) = written(store, Resources.apply, [network_set("a", "10.0.0.0/8")])
    assert isinstance(first, dict)
    (entry,) = finish(store.scan("/calico/")).entries
    store.asked.clear()
    store.meanwhile = [Put(entry.key, entry.value.replace(b"10.0.0.0/8", b"192.168.0.0/16"))]
    found = written(store, Resources.apply, [network_set("a", "172.16.0.0/12"), network_set("b")])
    assert [each["metadata"]["name"] for each in found if isinstance(each, dict)] == ["a", "b"]
    assert store.asked == ["snapshot", "commits 2", "get", "commits 1"]
    assert b"172.16.0.0/12" in finish(store.scan("/calico/")).entries[0].value


def test_who_wanted_to_create_and_came_second_is_told(tmp_path: Path) -> None:
    store = Watched(tmp_path / "store.db")
    finish(put(store, "/warm", b""))
    key = "/calico/resources/v3/projectcalico.org/globalnetworksets/a"
    store.meanwhile = [Put(key, b"{}")]
    taken, made = written(store, Resources.create, [network_set("a"), network_set("b")])
    assert isinstance(taken, AlreadyExists)
    assert isinstance(made, dict)


def test_two_pieces_that_write_one_key_go_one_after_the_other(tmp_path: Path) -> None:
    store = Watched(tmp_path / "store.db")
    finish(put(store, "/warm", b""))
    store.asked.clear()
    found = written(store, Resources.apply, [network_set("a", "10.0.0.0/8"), network_set("a", "172.16.0.0/12")])
    assert all(isinstance(each, dict) for each in found)
    assert b"172.16.0.0/12" in finish(store.scan("/calico/")).entries[0].value


def test_while_commits_are_under_way_others_are_made_ready(tmp_path: Path) -> None:
    store = Watched(tmp_path / "store.db")
    documents = [network_set(f"s{number}", "10.0.0.0/8") for number in range(600)]
    found = written(store, Resources.apply, documents)
    assert [each["metadata"]["name"] for each in found if isinstance(each, dict)] == [f"s{n}" for n in range(600)]
    written_at = [place for place, each in enumerate(store.asked) if each.startswith("commits")]
    assert [store.asked[place] for place in written_at] == ["commits 256", "commits 256", "commits 88"]
    assert store.asked[written_at[0] + 1 : written_at[1]] == ["other work"] * 256


def test_who_wants_to_read_while_commits_are_under_way_waits_for_them(tmp_path: Path) -> None:
    store = Watched(tmp_path / "store.db")
    finish(put(store, "/warm", b""))

    async def whole() -> list[Document | TortieError]:
        together = Together(store)
        documents = [network_set(f"s{number}", "10.0.0.0/8") for number in range(258)]
        await together.look_ahead(keys_of(of("GlobalNetworkSet", *(f"s{number}" for number in range(257)))))
        pieces = [partial(Resources(together).apply, document) for document in documents]
        return list(await together.run(pieces))

    store.asked.clear()
    assert all(isinstance(each, dict) for each in finish(whole()))
    look, first, *reads, last = [each for each in store.asked if each != "other work"]
    assert (look, first, {*reads}, last) == ("snapshot", "commits 256", {"get"}, "commits 2")


def test_a_defect_in_one_piece_leaves_the_commits_of_others_alone(tmp_path: Path) -> None:
    store = Watched(tmp_path / "store.db")

    async def broken() -> Document:
        raise ZeroDivisionError

    async def whole() -> None:
        together = Together(store)
        identities = of("GlobalNetworkSet", *(f"s{number}" for number in range(256)))
        await together.look_ahead(keys_of(identities))
        documents = [network_set(name) for _, name, _ in identities]
        pieces: list[Any] = [partial(Resources(together).apply, each) for each in documents]
        await together.run([*pieces, broken])

    with pytest.raises(ZeroDivisionError):
        finish(whole())
    assert len(finish(store.scan("/calico/")).entries) == 256


def test_a_store_that_knows_only_single_commits_serves_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(tmp_path / "store.db")
        found = await commit_each(store, [[Put("/a", b"")], [Put("/b", b"")]])
        assert [type(each) for each in found] == [int, int]
        await store.close()

    asyncio.run(scenario())
