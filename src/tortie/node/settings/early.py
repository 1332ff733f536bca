"""Where the health page listens, found before anything else is read: nothing is imported for it.

Never an error. What is wrong with these variables is found again, and told, by the whole reading.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_OFF = ("false", "0", "no", "n", "f", "off", "never", "none", "disable", "disabled")


def early_endpoints(environment: "Mapping[str, str]") -> tuple[bool, str, int]:
    """Whether there is a health page, its host and its port."""
    enabled = _felix(environment, "FELIX_HEALTHENABLED").lower() not in _OFF
    host = _felix(environment, "FELIX_HEALTHHOST")
    if not 0 < len(host) <= 64 or not all(
        letter in ":._+-" or (letter.isascii() and letter.isalnum()) for letter in host
    ):
        host = "localhost"
    port = _felix(environment, "FELIX_HEALTHPORT")
    good = port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65536
    return enabled, host, int(port) if good else 9099


def _felix(environment: "Mapping[str, str]", name: str) -> str:
    """Felix reads its variables in any case; the upper-case form wins over others."""
    if not environment.get(name):
        for spelling in environment:
            if spelling.upper() == name and environment[spelling]:
                return environment[spelling].strip()
    return (environment.get(name) or "").strip()
