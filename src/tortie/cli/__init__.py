"""The `tortie` command: argv and environment in, adapters chosen, errors turned into exit codes."""
