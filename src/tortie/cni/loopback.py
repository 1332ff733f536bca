"""The plugin `loopback`: lo of a sandbox goes up, and down again. containerd 1.x calls it for every pod.

For machines that have none of their own. It is installed as a file of its own (see `tortie.cni.shim`) and needs neither
this package nor the agent: whoever's network a pod has, it must not fail for want of lo.
"""

import _socket
import posix
import sys

from tortie.cni.plugin_alone import failure, stated, version_in

RELEASE = "0"
KNOWN = '["0.1.0","0.2.0","0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]'
COMMANDS = ("ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION")

GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 1
NETWORK_NAMESPACE = 0x40000000


def run() -> None:
    command = posix.environ.get(b"CNI_COMMAND", b"").decode(errors="replace")
    if not command and sys.argv[1:] in (["-v"], ["--version"]):
        tell(0, f"v{RELEASE}\n".encode())
    config = b""
    while command and (chunk := posix.read(0, 65536)):
        config += chunk
    what = "lo of the pod cannot be set up"
    try:
        code, output = answered(command, config)
    except OSError as error:
        code, output = failure(version_in(config), 104, what, error.strerror or str(error))
    except (ImportError, AttributeError) as error:
        why = f"{sys.executable} cannot enter namespaces: {error}. Fix: install containernetworking-plugins"
        code, output = failure(version_in(config), 104, what, why)
    except ValueError as error:
        code, output = failure(version_in(config), 6, "the configuration is no JSON", str(error))
    tell(code, output)


def answered(command: str, config: bytes) -> tuple[int, bytes]:
    """Exit code and standard output."""
    version = stated(config) or "0.1.0"  # what the specification takes it for
    if f'"{version}"' not in KNOWN and command != "DEL":
        return failure("1.1.0", 1, f"version {version} of the specification is not spoken", f"known are {KNOWN}")
    if command == "VERSION":
        return 0, f'{{"cniVersion":"{version}","supportedVersions":{KNOWN}}}\n'.encode()
    if command not in COMMANDS:
        what = f"unknown CNI_COMMAND: {command or 'none'}"
        return failure(version, 4, what, "container runtimes call this; -v prints its version")
    if command in ("GC", "STATUS"):
        return 0, b""
    netns = posix.environ.get(b"CNI_NETNS", b"")
    if not netns and command != "DEL":
        return failure(version, 4, "required env variables [CNI_NETNS] missing", f"{command} needs it")
    entered = enter(netns)
    if command == "DEL":
        if entered == "other":
            flags(flags() & ~UP)
        return 0, b""
    if not entered:
        path = netns.decode(errors="replace")
        return failure(version, 3, f"the namespace {path} cannot be opened", "it is gone, or is no network namespace")
    if command == "CHECK":
        why = "something took it down. Fix: delete the pod, so that it is made anew"
        return (0, b"") if flags() & UP else failure(version, 103, "lo of the pod is down", why)
    flags(flags() | UP)
    return 0, result(config, version, netns)


def enter(path: bytes) -> str:
    """Whose namespace this process is in now: "own", as before, "other", or "" if the path leads to none."""
    try:
        namespace = posix.open(path, posix.O_RDONLY | posix.O_NONBLOCK | posix.O_CLOEXEC) if path else -1
    except OSError:
        namespace = -1
    if namespace < 0:
        return ""
    there, here = posix.fstat(namespace), posix.stat("/proc/self/ns/net")
    if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino):
        return "own"
    if hasattr(posix, "setns"):
        posix.setns(namespace, NETWORK_NAMESPACE)
        return "other"
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, NETWORK_NAMESPACE):
        number = ctypes.get_errno()
        if number == 22:  # a file, but no network namespace
            return ""
        raise OSError(number, posix.strerror(number))
    return "other"


def flags(wanted: int | None = None) -> int:
    """Those that lo has in the namespace where this process is, once they are as wanted."""
    import fcntl
    import struct

    form = "16sH22x"  # struct ifreq
    any_socket = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM | _socket.SOCK_CLOEXEC)
    if wanted is not None:
        fcntl.ioctl(any_socket.fileno(), SET_FLAGS, struct.pack(form, b"lo", wanted))
    found: int = struct.unpack(form, fcntl.ioctl(any_socket.fileno(), GET_FLAGS, struct.pack(form, b"lo", 0)))[1]
    return found


def result(config: bytes, version: str, netns: bytes) -> bytes:
    """What a plugin before this one said, as it said it; else lo with the addresses that the kernel gives it."""
    import json

    previous = json.loads(config).get("prevResult") if b'"prevResult"' in config else None
    if previous is not None:
        return json.dumps(previous).encode() + b"\n"
    addresses = ["127.0.0.1/8"] + (["::1/128"] if has_ipv6() else [])
    if version in ("0.1.0", "0.2.0"):
        families = {f"ip{6 if ':' in address else 4}": {"ip": address} for address in addresses}
        return json.dumps({"cniVersion": version, **families, "dns": {}}).encode() + b"\n"
    ips = [{"interface": 0, "address": address} for address in addresses]
    if version < "1.0.0":
        ips = [{"version": "6" if ":" in str(ip["address"]) else "4", **ip} for ip in ips]
    link = {"name": "lo", "mac": "00:00:00:00:00:00", "sandbox": netns.decode(errors="replace")}
    return json.dumps({"cniVersion": version, "interfaces": [link], "ips": ips, "dns": {}}).encode() + b"\n"


def has_ipv6() -> bool:
    try:
        with open("/proc/self/net/if_inet6", encoding="ascii") as table:
            return any(line.startswith("0" * 31 + "1 ") for line in table)
    except OSError:
        return False


def tell(code: int, output: bytes) -> None:
    while output:
        output = output[posix.write(1, output) :]
    posix._exit(code)


if __name__ == "__main__":
    run()
