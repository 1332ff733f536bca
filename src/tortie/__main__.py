"""`python -m tortie` is the command, too."""

from tortie.cli.main import entry

entry()
