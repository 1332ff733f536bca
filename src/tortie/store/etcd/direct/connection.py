"""One endpoint: connected when first used, and again after that broke."""

from __future__ import annotations

import _socket
import time
from collections.abc import Callable, Sequence

from tortie.model.errors import UsageError
from tortie.model.light import Any, Final
from tortie.store.etcd.client import Metadata
from tortie.store.etcd.config import Endpoint, EtcdConfig
from tortie.store.etcd.direct.codec import AUTHENTICATE, STATUS, authentication, token_in
from tortie.store.etcd.direct.hpack import encoded
from tortie.store.etcd.direct.names import Resolver, family_of
from tortie.store.etcd.direct.session import Exchange, Session
from tortie.store.etcd.refusal import RpcError
from tortie.store.etcd.trouble import Failed, Trouble, is_about_connecting, no_answer, no_name, of_connection_error

# A connection that was silent for longer may be dead without knowing it: ask before trusting it with a request.
_TRUSTED_S: Final = 3.0


class Connection:
    def __init__(self, endpoint: Endpoint, config: EtcdConfig) -> None:
        self.endpoint = endpoint
        self._config = config
        self._resolver = Resolver(endpoint.host)
        self._session: Session | None = None

    @property
    def is_new(self) -> bool:
        return self._session is None

    async def call(
        self, rpc: str, request: bytes, metadata: Metadata, limit_s: float, longest_s: float | None = None
    ) -> bytes:
        (found,) = self._exchanged(rpc, [request], metadata, limit_s, longest_s or limit_s)
        if isinstance(found, bytes):
            return found
        raise found

    async def call_each(
        self,
        rpc: str,
        requests: Sequence[bytes],
        metadata: Metadata,
        limit_s: float,
        meanwhile: Callable[[], bool] | None = None,
    ) -> list[bytes | RpcError | Failed]:
        return self._exchanged(rpc, requests, metadata, limit_s, limit_s, meanwhile)

    async def authenticate(self, user: str, password: str, limit_s: float) -> str:
        return token_in(await self.call(AUTHENTICATE, authentication(user, password), (), limit_s))

    async def make_sure_it_answers(self, limit_s: float) -> None:
        heard_at = self._session.heard_at if self._session else None
        if heard_at is not None and time.monotonic() - heard_at < _TRUSTED_S:
            return
        try:
            await self.call(STATUS, b"", (), limit_s)
        except RpcError:
            pass  # refusing to tell is an answer too
        except Failed as failed:
            raise Failed(failed.trouble, sent=False) from failed

    def retire(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def _exchanged(
        self,
        path: str,
        requests: Sequence[bytes],
        metadata: Metadata,
        limit_s: float,
        longest_s: float,
        meanwhile: Callable[[], bool] | None = None,
    ) -> list[bytes | RpcError | Failed]:
        began = time.monotonic()
        exchanges = [Exchange(request) for request in requests]
        session: Session | None = None
        trouble = Trouble("the connection broke", "see in etcd's log why it closed it")
        try:
            session = self._session_for(limit_s)
            passed_s = time.monotonic() - began
            headers = self._headers(path, metadata)
            session.run(exchanges, headers, limit_s - passed_s, longest_s - passed_s, meanwhile)
        except Exception as error:
            heard = session is not None and session.heard_at is not None
            self.retire()
            trouble = self._explained(error, limit_s, began + limit_s - time.monotonic(), heard=heard)
        if session is not None and session.leaving:
            self.retire()
        return [
            Failed(trouble, sent=exchange.sent) if exchange.reply is None else exchange.reply for exchange in exchanges
        ]

    def _headers(self, path: str, metadata: Metadata) -> bytes:
        scheme, host, port = self.endpoint
        return encoded(
            (
                (":method", "POST"),
                (":scheme", scheme),
                (":path", path),
                (":authority", f"[{host}]:{port}" if ":" in host else f"{host}:{port}"),
                ("te", "trailers"),
                ("content-type", "application/grpc"),
                *metadata,
            )
        )

    def _session_for(self, limit_s: float) -> Session:
        if self._session is not None and not self._session.is_open():
            self.retire()
        if self._session is None:
            self._session = self._connected(time.monotonic() + limit_s)
        return self._session

    def _connected(self, until: float) -> Session:
        """With the first address that takes a connection; if none does, the error of the last."""
        # Certificates are read anew each time: they are renewed while we run.
        context = self._tls() if self.endpoint.secure else None
        *others, last = self._resolver.addresses(until - time.monotonic())
        for address in others:
            try:
                return self._connected_to(address, context, until)
            except OSError as error:
                if not is_about_connecting(error):
                    raise
        return self._connected_to(last, context, until)

    def _tls(self) -> Any:
        from tortie.store.etcd.tls import make_context, read_credentials

        return make_context(read_credentials(self._config))

    def _connected_to(self, address: str, context: Any, until: float) -> Session:
        # The C module's socket: the one around it brings modules that take longer than the request.
        plain = _socket.socket(family_of(address), _socket.SOCK_STREAM)
        try:
            _allow(plain, until)
            plain.connect((address, self.endpoint.port))
            plain.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
            if context is None:
                return Session(plain, (BlockingIOError,))
            return self._secured(plain, context, until)
        except BaseException:
            plain.close()
            raise

    def _secured(self, plain: _socket.socket, context: Any, until: float) -> Session:
        import socket
        import ssl

        whole = socket.socket(fileno=plain.detach())
        try:
            _allow(whole, until)
            secured = context.wrap_socket(whole, server_hostname=self.endpoint.host)
        except BaseException:
            whole.close()
            raise
        return Session(secured, (BlockingIOError, ssl.SSLWantReadError))

    def _explained(self, error: Exception, limit_s: float, left_s: float, *, heard: bool) -> Trouble:
        """Puts into words why an attempt failed; where the error does not say, asks again while there is time left."""
        if isinstance(error, TimeoutError):
            if self._resolver.is_waiting:
                return no_name(self.endpoint.host, f"within {limit_s:.1f} s")
            return no_answer(limit_s)
        if isinstance(error, UsageError):
            return Trouble(str(error), error.fix)
        if not heard and not is_about_connecting(error):
            trouble = _diagnosed(self.endpoint, self._config, left_s)
            if trouble is not None:
                return trouble
        return of_connection_error(error, self.endpoint)


def _allow(socket: _socket.socket, until: float) -> None:
    left_s = until - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    socket.settimeout(left_s)


def _diagnosed(endpoint: Endpoint, config: EtcdConfig, limit_s: float) -> Trouble | None:
    """What the other client would find out: now that something failed, its modules cost nothing that matters.

    In a thread, because the caller may live in an event loop, which cannot have a second one within.
    """
    import asyncio
    from threading import Thread

    from tortie.store.etcd.diagnosis import diagnose

    found: list[Trouble | None] = []
    thread = Thread(target=lambda: found.append(asyncio.run(diagnose(endpoint, config, limit_s))), daemon=True)
    thread.start()
    thread.join(limit_s)
    return found[0] if found else None
