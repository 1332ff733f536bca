"""Loading a table of nftables by the program `nft`, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from tortie.dataplane.nat import TABLE
from tortie.dataplane.things import NatTable
from tortie.host.files import write_whole
from tortie.host.programs import outcome_of
from tortie.model.errors import TortieError
from tortie.node.paths import Paths

_TIMEOUT_S: Final = 30.0
_SAID_MAX: Final = 300


async def load_table(table: NatTable, paths: Paths, environment: Mapping[str, str]) -> None:
    """The file stays, so that people can read what was loaded last. An empty text takes the table away."""
    words = "ip" if table.family == 4 else "ip6"
    text = table.text or f"table {words} {TABLE}\ndelete table {words} {TABLE}\n"
    file = paths.below(f"/run/tortie/nat{table.family}.nft")
    what = f"cannot load the {table}"
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        write_whole(file, text.encode())
        status, said = await outcome_of(["nft", "-f", file], environment, _TIMEOUT_S)
    except FileNotFoundError:
        raise TortieError(what, "the program nft is not there", "install nftables") from None
    except TimeoutError:
        raise TortieError(what, f"nft did not end within {_TIMEOUT_S:.0f} s", "look at dmesg") from None
    except OSError as error:
        raise TortieError(what, error.strerror or str(error), f"try nft -f {file}") from None
    if status != 0:
        said = " ".join(said.split())[:_SAID_MAX]
        raise TortieError(what, f"nft ended with status {status}: {said}", f"try nft -f {file}")
