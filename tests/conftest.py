"""For all tests: generated examples may take as long as a busy machine makes them."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("tortie", deadline=None)
settings.load_profile("tortie")
