"""The program that runtimes call: it takes the request to the agent and the answer back, and understands neither.

It is installed as a file of its own (see `tortie.cni.shim`) and runs without this package, with nothing imported that
the interpreter has not loaded already: each module would cost more than all of the agent's work. What it does without
the agent is in `tortie.cni.plugin_alone`; the installed file carries that as comments, which cost nothing until then.
"""

import _socket
import posix
import sys

SOCKET = "/run/tortie/cni.sock"
STATE = "/var/lib/tortie/cni"
PATIENCE_S = 90.0  # more than the agent takes in its worst case


def run() -> None:
    variables = posix.environ
    command = variables.get(b"CNI_COMMAND")
    request = b"TORTIE-CNI 1\0TORTIE_PLUGIN=" + sys.argv[0].rpartition("/")[2].encode()
    for name in variables:
        if name[:4] == b"CNI_":
            request += b"\0" + name + b"=" + variables[name]
    request += b"\0\0"
    while command and (chunk := posix.read(0, 65536)):
        request += chunk
    answer = b""
    why = "it hung up"
    if command and command != b"VERSION":
        try:
            answer = ask(request, variables.get(b"CNI_NETNS"))
        except OSError as error:
            why = error.strerror or str(error) or "it gave no answer in time"
    code, separator, output = answer.partition(b"\n")
    if not separator:
        known = globals()
        with open(__file__, encoding="utf-8") as program:
            exec("".join(line[2:] for line in program if line.startswith("#|")), known)
        code, output = known["alone"](request, SOCKET, STATE, why)
    while output:
        output = output[posix.write(1, output) :]
    posix._exit(int(code))


def ask(request: bytes, netns: bytes | None) -> bytes:
    rights = []
    if netns:
        # The agent may live where the runtime's paths lead nowhere.
        try:
            namespace = posix.open(netns, posix.O_RDONLY | posix.O_NONBLOCK | posix.O_CLOEXEC)
            rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, namespace.to_bytes(4, sys.byteorder))]
        except OSError:
            pass
    agent = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    agent.settimeout(PATIENCE_S)
    path = SOCKET
    if len(path) > 100:  # the kernel takes 107 bytes
        folder, _, path = path.rpartition("/")
        posix.chdir(folder)
    agent.connect(path)
    sent = agent.sendmsg([request], rights)
    if sent < len(request):
        agent.sendall(request[sent:])
    agent.shutdown(_socket.SHUT_WR)
    answer = b""
    while chunk := agent.recv(65536):
        answer += chunk
    return answer


if __name__ == "__main__":
    run()
