"""How long something took or has lasted, for people."""

from __future__ import annotations


def span(seconds: float) -> str:
    """`0.4 s`, `31 s`, `5 min 10 s`, `3 h 20 min`."""
    if seconds < 120:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 120:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"
