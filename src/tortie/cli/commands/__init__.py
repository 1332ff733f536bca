"""One module per command or family of commands; `tortie.cli.main.COMMANDS` lists them."""
