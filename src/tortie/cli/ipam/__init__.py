"""What `tortie ipam` does; declared in `tortie.cli.commands.ipam`."""
