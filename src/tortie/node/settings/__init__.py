"""The settings of a node: every environment variable of Calico's, read once, typed, with its source and its faults.

The names below are looked up when they are used, because `tortie.node.settings.early` is imported before anything
else of a node, and must not bring the rest with it.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tortie.node.settings.early import early_endpoints as early_endpoints
    from tortie.node.settings.envfile import EnvFile as EnvFile
    from tortie.node.settings.envfile import load_env_file as load_env_file
    from tortie.node.settings.envfile import parse_env_file as parse_env_file
    from tortie.node.settings.reading import read_node_settings as read_node_settings
    from tortie.node.settings.setting import Finding as Finding
    from tortie.node.settings.setting import Setting as Setting
    from tortie.node.settings.telling import Change as Change
    from tortie.node.settings.telling import RefusedSettings as RefusedSettings
    from tortie.node.settings.telling import Row as Row
    from tortie.node.settings.telling import changes as changes
    from tortie.node.settings.telling import listing as listing
    from tortie.node.settings.telling import refusal as refusal
    from tortie.node.settings.typed import NodeSettings as NodeSettings
    from tortie.node.settings.typed import Reading as Reading

_HOMES = {
    "early": ("early_endpoints",),
    "envfile": ("EnvFile", "load_env_file", "parse_env_file"),
    "reading": ("read_node_settings",),
    "setting": ("Finding", "Setting"),
    "telling": ("Change", "RefusedSettings", "Row", "changes", "listing", "refusal"),
    "typed": ("NodeSettings", "Reading"),
}

if not TYPE_CHECKING:

    def __getattr__(name):
        for home, names in _HOMES.items():
            if name in names:
                return getattr(__import__(f"{__name__}.{home}", fromlist=[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
