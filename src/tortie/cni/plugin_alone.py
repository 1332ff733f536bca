"""What the plugin does when the agent does not answer or is not needed. Part of the installed file, Python or compiled
(see `tortie.cni.shim`), so it imports nothing of ours.

Nothing can be added without the agent, and the runtime is told to try again. Whoever deletes must not be held up: what
is to be freed is written down, and the agent finishes it when it is back.
"""

import posix
import sys

RELEASE = "0"
VERSIONS = '["0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]'


def handed_over(socket: str, state: str) -> None:
    """From the compiled program: the request is the standard input, and the first argument why nobody answered."""
    request = b""
    while chunk := posix.read(0, 65536):
        request += chunk
    why = sys.argv.pop(1)
    code, output = alone(request, socket, state, why)
    while output:
        output = output[posix.write(1, output) :]
    posix._exit(code)


def alone(request: bytes, socket: str, state: str, why: str) -> tuple[int, bytes]:
    """Exit code and standard output."""
    head, _, config = request.partition(b"\0\0")
    variables = dict(item.split(b"=", 1) for item in head.split(b"\0") if b"=" in item)
    command = variables.get(b"CNI_COMMAND", b"").decode(errors="replace")
    version = version_in(config)
    if command == "VERSION":
        return 0, f'{{"cniVersion":"{version}","supportedVersions":{VERSIONS}}}\n'.encode()
    if not command and sys.argv[1:] in (["-v"], ["--version"]):
        return 0, f"v{RELEASE}\n".encode()
    details = f"{socket}: {why}. Fix: start it, `tortie node run`; the runtime will try again"
    if command == "DEL":
        if not variables.get(b"CNI_CONTAINERID"):
            return failure(version, 4, "required env variables [CNI_CONTAINERID] missing", "")
        try:
            remember(state, variables, request)
        except OSError as error:
            why = f"{state}: {error.strerror}"
            return failure(
                version, 11, "the agent does not answer, and what is to be freed cannot be written down", why
            )
        return 0, b""
    if command not in ("ADD", "CHECK", "GC", "STATUS"):
        return failure(
            version,
            4,
            f"unknown CNI_COMMAND: {command or 'none'}",
            "container runtimes call this; -v prints its version",
        )
    return failure(version, 50 if command == "STATUS" else 11, "the agent on this node does not answer", details)


def remember(state: str, variables: dict[bytes, bytes], request: bytes) -> None:
    """One file for each attachment: a DEL that is repeated finds its own."""
    names = (b"CNI_CONTAINERID", b"CNI_IFNAME", b"TORTIE_PLUGIN")
    name = b"-".join(variables.get(each, b"") for each in names)[:200].replace(b"/", b"_").decode(errors="replace")
    folder = state + "/pending"
    place = ""
    for part in folder.split("/")[1:]:
        place += "/" + part
        try:
            posix.mkdir(place, 0o700 if place.startswith(state) else 0o755)
        except OSError as error:
            if error.errno != 17:
                raise
    beside = f"{folder}/.{name}.{posix.getpid()}"
    descriptor = posix.open(beside, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_CLOEXEC, 0o600)
    try:
        while request:
            request = request[posix.write(descriptor, request) :]
        posix.fsync(descriptor)
    finally:
        posix.close(descriptor)
    posix.rename(beside, f"{folder}/{name}")


def version_in(config: bytes) -> str:
    """One of ours, for an answer."""
    version = stated(config)
    return version if f'"{version}"' in VERSIONS else "1.1.0"


def stated(config: bytes) -> str:
    """What the configuration says, without understanding JSON."""
    return config.partition(b'"cniVersion"')[2].partition(b'"')[2].partition(b'"')[0].decode(errors="replace")


def failure(version: str, code: int, text: str, details: str) -> tuple[int, bytes]:
    fields = f'"msg":{quoted(text)},"details":{quoted(details)}'
    return 1, f'{{"cniVersion":"{version}","code":{code},{fields}}}\n'.encode()


def quoted(text: str) -> str:
    plain = "".join(character if character >= " " else " " for character in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
