"""For all tests: generated examples may take as long as a busy machine makes them, and children hear Ctrl-C.

A shell without job control has what it runs in the background ignore SIGINT, and every child of that ignores it as
well: what tests say about interruptions would then be about the shell.
"""

from __future__ import annotations

import signal

from hypothesis import settings

settings.register_profile("tortie", deadline=None)
settings.load_profile("tortie")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
