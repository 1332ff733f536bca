"""Users and passwords: let in, kept in, and told plainly when not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest
from tests.support.etcd_server import EtcdServer, running_etcd
from tests.support.stores import CompactableStore

from tortie.store.contract import ABSENT, Unauthorized, put
from tortie.store.etcd import EtcdConfig


class CLIENT:
    """The one that a test is about."""

    open: Callable[[EtcdConfig], CompactableStore]


@pytest.fixture(autouse=True)
def either_client(etcd_client: Callable[[EtcdConfig], CompactableStore], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CLIENT, "open", etcd_client, raising=False)


ROOT = ("root", "correct horse")
FELIX = ("felix", "battery staple")


@pytest.fixture(scope="module")
def etcd() -> Iterator[EtcdServer]:
    """Knows root, and felix, who may do everything below /calico/ and nothing else."""
    with running_etcd() as server:
        server.etcdctl("user", "add", ":".join(FELIX))
        server.etcdctl("role", "add", "calico")
        server.etcdctl("role", "grant-permission", "calico", "readwrite", "--prefix=true", "/calico/")
        server.etcdctl("user", "grant-role", FELIX[0], "calico")
        server.enable_auth(ROOT[1])
        yield server


def run(
    etcd: EtcdServer, scenario: Callable[[CompactableStore], Awaitable[None]], login: tuple[str, str] | None = FELIX
) -> None:
    async def guarded() -> None:
        username, password = login or (None, None)
        store = CLIENT.open(EtcdConfig(endpoints=(etcd.endpoint,), username=username, password=password))
        try:
            async with asyncio.timeout(30):
                await scenario(store)
        finally:
            await store.close()

    asyncio.run(guarded())


def test_a_user_reads_writes_and_watches_what_is_allowed(etcd: EtcdServer) -> None:
    async def scenario(store: CompactableStore) -> None:
        revision = await put(store, "/calico/a", b"1")
        entry = await store.get("/calico/a")
        assert entry is not None
        assert (await store.scan("/calico/")).entries == (entry,)
        assert (await anext(store.watch("/calico/", after=revision - 1))).value == b"1"

    run(etcd, scenario)


def test_a_wrong_password_is_refused_with_the_user_and_without_the_password(etcd: EtcdServer) -> None:
    async def scenario(store: CompactableStore) -> None:
        with pytest.raises(Unauthorized) as caught:
            await store.get("/calico/a")
        error = caught.value
        assert error.what == "etcd does not let user felix in"
        assert "ETCD_PASSWORD" in error.fix
        assert "hunter2" not in f"{error} {error.fix}"

    run(etcd, scenario, ("felix", "hunter2"))


def test_without_a_user_one_is_asked_for(etcd: EtcdServer) -> None:
    async def scenario(store: CompactableStore) -> None:
        with pytest.raises(Unauthorized, match="no user is set") as caught:
            await store.get("/calico/a")
        assert "ETCD_USERNAME" in caught.value.fix

    run(etcd, scenario, None)


def test_what_a_role_does_not_cover_is_named(etcd: EtcdServer) -> None:
    async def scenario(store: CompactableStore) -> None:
        with pytest.raises(Unauthorized, match="does not allow user felix to read /registry/pods/x"):
            await store.get("/registry/pods/x")
        with pytest.raises(Unauthorized, match="to scan /registry/"):
            await store.scan("/registry/")
        with pytest.raises(Unauthorized, match="to write /registry/pods/x"):
            await put(store, "/registry/pods/x", b"")
        with pytest.raises(Unauthorized, match="to watch /registry/"):
            await anext(store.watch("/registry/", after=0))

    run(etcd, scenario)


def test_a_token_that_etcd_has_forgotten_is_renewed_in_passing() -> None:
    """A restarted etcd knows none of the tokens it gave out."""

    async def scenario(store: CompactableStore) -> None:
        await put(store, "/calico/a", b"1")
        changes = store.watch("/calico/", after=0)
        assert (await anext(changes)).key == "/calico/a"
        await asyncio.to_thread(restart)
        await put(store, "/calico/b", b"2", expecting=ABSENT)
        entry = await store.get("/calico/b")
        assert entry is not None
        assert (await anext(changes)).key == "/calico/b"

    def restart() -> None:
        etcd.stop()
        etcd.start()

    with running_etcd(root_password=ROOT[1]) as etcd:
        run(etcd, scenario, ROOT)


def test_a_user_that_nobody_asks_for_does_no_harm() -> None:
    async def scenario(store: CompactableStore) -> None:
        await put(store, "/calico/a", b"1")

    with running_etcd() as open_etcd:
        run(open_etcd, scenario)
