"""`python -m tortie` is the command, too."""

from tortie.cli.entry import entry

entry()
