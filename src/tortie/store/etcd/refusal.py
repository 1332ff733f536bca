"""What etcd means when it answers with an error, sorted by what the client may do about it."""

from __future__ import annotations

from tortie.model.errors import TortieError, UsageError
from tortie.model.light import Final, Literal
from tortie.store.contract import COMMIT_BYTES_MAX, Damaged, Unauthorized
from tortie.store.etcd.trouble import Trouble

# etcd's gRPC codes are coarse; its texts are fixed and tell more.
NO_LEADER = "etcdserver: no leader"
COMPACTED = "etcdserver: mvcc: required revision has been compacted"
AUTH_NOT_ENABLED = "etcdserver: authentication is not enabled"
PERMISSION_DENIED = "etcdserver: permission denied"
_NO_SPACE = "etcdserver: mvcc: database space exceeded"
_TOO_LARGE = "etcdserver: request is too large"
_MUCH_TOO_LARGE = "grpc: received message larger than max"
_WRONG_PASSWORD = "etcdserver: authentication failed, invalid user ID or password"
_NO_USER = "etcdserver: user name is empty"
INVALID_TOKEN = "etcdserver: invalid auth token"
_OLD_TOKEN = (INVALID_TOKEN, "etcdserver: revision of auth store is old")
# Said before the request is handed to the cluster, so it certainly had no effect.
_NOT_PROPOSED = (NO_LEADER, "etcdserver: too many requests", "etcdserver: not capable", "raft proposal dropped")
# What we say, and grpclib does, of an HTTP answer that is no gRPC answer: some other server listens there.
NOT_GRPC = "Received :status"

# gRPC's codes, and those of them that somebody here asks for.
_STATUSES: Final = (
    *("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS"),
    *("PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED"),
    *("INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"),
)
UNKNOWN: Final = _STATUSES.index("UNKNOWN")
DENIED: Final = _STATUSES.index("PERMISSION_DENIED")
UNAVAILABLE: Final = _STATUSES.index("UNAVAILABLE")
UNAUTHENTICATED: Final = _STATUSES.index("UNAUTHENTICATED")
_DATA_LOSS: Final = _STATUSES.index("DATA_LOSS")
# These are about the member or the moment, not about the request.
_PASSING = frozenset(map(_STATUSES.index, ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "UNKNOWN", "INTERNAL")))


class RpcError(Exception):
    """etcd answered with an error: gRPC's code and a text, as whichever client heard them."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(status, text)
        self.status = status
        self.text = text

    @property
    def name(self) -> str:
        return _STATUSES[self.status] if self.status < len(_STATUSES) else f"code {self.status}"


class Refused(TortieError):
    """etcd answered, and will not do it."""

    code = "refused"


class RevisionCompacted(Exception):
    """The revision asked for is no longer kept."""


# What to do after an error that is not final. In doubt: the request may have had its effect, or may yet have it.
Course = Literal["renew the token", "try elsewhere", "in doubt"]


def course_after(error: RpcError, doing: str, user: str | None) -> Course:
    """Raises what is final, in words; says how to go on after the rest."""
    text = error.text
    if text in _OLD_TOKEN:
        return "renew the token"
    if text in _NOT_PROPOSED:
        return "try elsewhere"
    if text == COMPACTED:
        raise RevisionCompacted from error
    if error.status in _PASSING:
        return "in doubt"
    if text.startswith(NOT_GRPC):
        return "try elsewhere"
    raise _final(error, text, doing, user) from error


def _final(error: RpcError, text: str, doing: str, user: str | None) -> TortieError:
    if error.status == DENIED:
        return permission_denied(doing, user)
    if text == _WRONG_PASSWORD:
        return Unauthorized(
            f"etcd does not let user {user} in",
            "user or password is wrong",
            "check ETCD_USERNAME and ETCD_PASSWORD; `etcdctl user list` shows who is known",
        )
    if text == _NO_USER:
        return Unauthorized(
            "etcd asks who we are", "its authentication is on and no user is set", "set ETCD_USERNAME and ETCD_PASSWORD"
        )
    if text == _NO_SPACE:
        return Refused(
            f"etcd refused to {doing}",
            "its database is full, it takes no writes until somebody makes room",
            "`etcdctl compact` and `etcdctl defrag`, then `etcdctl alarm disarm`; see also --quota-backend-bytes",
        )
    if text == _TOO_LARGE or _MUCH_TOO_LARGE in text:
        return UsageError(
            f"a commit too large to {doing}", f"etcd takes at most about {COMMIT_BYTES_MAX:,} bytes", "split it"
        )
    if error.status == _DATA_LOSS:
        return Damaged("etcd reports damaged data", text, "see `etcdctl alarm list`, and restore the member concerned")
    return Refused(f"etcd refused to {doing}", text or error.name, "see etcd's log")


def permission_denied(doing: str, user: str | None) -> Unauthorized:
    who = f"user {user}" if user else "this client"
    return Unauthorized(
        f"etcd does not allow {who} to {doing}",
        "none of the user's roles covers these keys",
        "`etcdctl role grant-permission <role> readwrite --prefix=true /calico/` gives what Calico's data needs",
    )


def trouble_of(error: RpcError) -> Trouble:
    if error.text.startswith(NOT_GRPC):
        return Trouble(f"something other than etcd answers there ({error.text})", "is that etcd's client port?")
    if error.text == NO_LEADER:
        return Trouble(
            "it runs, but its cluster has no leader", "see whether most of the members run and reach each other"
        )
    return Trouble(f"it answered: {error.text or error.name}", "see etcd's log")
