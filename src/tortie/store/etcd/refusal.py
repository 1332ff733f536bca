"""What etcd means when it answers with an error, sorted by what the client may do about it."""

from __future__ import annotations

from enum import Enum, auto

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from tortie.model.errors import TortieError, UsageError
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
# What grpclib says of an HTTP answer that is no gRPC answer: some other server listens there.
_NOT_GRPC = "Received :status"
# These are about the member or the moment, not about the request.
_PASSING = (Status.UNAVAILABLE, Status.DEADLINE_EXCEEDED, Status.CANCELLED, Status.UNKNOWN, Status.INTERNAL)


class Refused(TortieError):
    """etcd answered, and will not do it."""

    code = "refused"


class RevisionCompacted(Exception):
    """The revision asked for is no longer kept."""


class Course(Enum):
    """What to do after an error that is not final."""

    RENEW_TOKEN = auto()  # it had no effect
    TRY_ELSEWHERE = auto()  # it had no effect
    IN_DOUBT = auto()  # it may have had its effect, or may yet


def course_after(error: GRPCError, doing: str, user: str | None) -> Course:
    """Raises what is final, in words; says how to go on after the rest."""
    text = error.message or ""
    if text in _OLD_TOKEN:
        return Course.RENEW_TOKEN
    if text in _NOT_PROPOSED:
        return Course.TRY_ELSEWHERE
    if text == COMPACTED:
        raise RevisionCompacted from error
    if error.status in _PASSING:
        return Course.IN_DOUBT
    if text.startswith(_NOT_GRPC):
        return Course.TRY_ELSEWHERE
    raise _final(error, text, doing, user) from error


def _final(error: GRPCError, text: str, doing: str, user: str | None) -> TortieError:
    if error.status is Status.PERMISSION_DENIED:
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
    if error.status is Status.DATA_LOSS:
        return Damaged("etcd reports damaged data", text, "see `etcdctl alarm list`, and restore the member concerned")
    return Refused(f"etcd refused to {doing}", text or error.status.name, "see etcd's log")


def permission_denied(doing: str, user: str | None) -> Unauthorized:
    who = f"user {user}" if user else "this client"
    return Unauthorized(
        f"etcd does not allow {who} to {doing}",
        "none of the user's roles covers these keys",
        "`etcdctl role grant-permission <role> readwrite --prefix=true /calico/` gives what Calico's data needs",
    )


def trouble_of(error: GRPCError) -> Trouble:
    if (error.message or "").startswith(_NOT_GRPC):
        return Trouble(f"something other than etcd answers there ({error.message})", "is that etcd's client port?")
    if error.message == NO_LEADER:
        return Trouble(
            "it runs, but its cluster has no leader", "see whether most of the members run and reach each other"
        )
    return Trouble(f"it answered: {error.message or error.status.name}", "see etcd's log")
