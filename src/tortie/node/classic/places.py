"""Where in Calico's sources a line of the log comes from, as its logs show it. Pure.

The numbers of v3.4 to v3.8 are those of a real log; of other releases they are of the right order. Nobody should read
more out of them than which generation it is.
"""

from __future__ import annotations

from typing import Final

_GENERATIONS: Final = ((3, 0), (3, 4), (3, 9), (3, 14), (3, 19), (3, 25))

_S: Final = "startup.go"
_U: Final = "utils.go"  # from v3.19 on; `startup.go` before
_D: Final = "autodetection_methods.go"  # from v3.19 on; `startup.go` before

# How the message begins, the file since v3.19, the file before, and its line in each generation.
_PLACES: Final[tuple[tuple[str, str, str, tuple[int, ...]], ...]] = (
    ("Early log level set to", _S, _S, (248, 256, 276, 299, 396, 431)),
    ("Failed to parse log level", _S, _S, (243, 251, 271, 294, 391, 426)),
    ("Using NODENAME environment", _U, _S, (264, 272, 292, 315, 126, 127)),
    ("Using stored node name", _U, _S, (267, 275, 295, 318, 129, 130)),
    ("Using HOSTNAME environment", _U, _S, (270, 278, 298, 321, 132, 133)),
    ("Using auto-detected node name", _U, _S, (280, 288, 308, 331, 137, 138)),
    ("Determined node name:", _U, _S, (276, 284, 304, 327, 138, 139)),
    ("Starting node", _S, _S, (95, 97, 100, 101, 94, 95)),
    ("Checking datastore connection", _S, _S, (300, 308, 316, 359, 401, 436)),
    ("Hit error connecting to datastore", _S, _S, (315, 323, 331, 374, 416, 451)),
    ("Connection to the datastore is unauthorized", _S, _S, (321, 329, 337, 380, 422, 457)),
    ("Datastore connection verified", _S, _S, (324, 332, 340, 383, 425, 460)),
    ("Datastore is ready", _S, _S, (92, 95, 98, 103, 104, 105)),
    ("Skipping datastore connection test", _S, _S, (95, 97, 100, 105, 103, 109)),
    ("Building new node resource", _S, _S, (344, 352, 366, 404, 480, 500)),
    ("Unable to query node configuration", _S, _S, (334, 342, 356, 394, 470, 490)),
    ("Unable to access datastore to query", _S, _S, (140, 142, 145, 150, 142, 158)),
    ("Initiali", _S, _S, (359, 367, 380, 409, 485, 505)),
    ("Using autodetected IP", _D, _S, (735, 747, 768, 801, 103, 103)),
    ("Auto-detected address by connecting", _D, _S, (757, 769, 790, 823, 125, 125)),
    ("Unable to auto-detect", _D, _S, (730, 742, 763, 796, 98, 99)),
    ("Invalid CIDR", _D, _S, (780, 792, 813, 846, 160, 161)),
    ("Invalid interface regex", "interfaces.go", "interfaces.go", (62, 62, 62, 64, 66, 66)),
    ("Invalid IP autode", _D, _S, (715, 727, 748, 781, 84, 85)),
    ("Cannot use method", _D, _S, (0, 0, 0, 0, 188, 190)),
    ("Including CIDR information", _S, _S, (0, 0, 0, 0, 612, 640)),
    ("Autodetection of IP", _S, _S, (400, 408, 421, 450, 528, 548)),
    ("Autodetection for IP", _S, _S, (404, 412, 425, 454, 532, 552)),
    ("Couldn't autodetect", _S, _S, (392, 400, 407, 435, 511, 531)),
    ("Using IPv4 address from environment", _S, _S, (468, 476, 490, 520, 600, 620)),
    ("Using IPv6 address from environment", _S, _S, (468, 476, 490, 520, 600, 620)),
    ("Environment does not contain", _S, _S, (460, 468, 482, 512, 592, 612)),
    ("Unable to confirm IP", _S, _S, (497, 505, 518, 548, 628, 648)),
    ("IPv4 address has changed", _S, _S, (824, 836, 857, 890, 972, 990)),
    ("IPv6 address has changed", _S, _S, (849, 861, 882, 915, 997, 1015)),
    ("IPv4 address", _S, _S, (501, 509, 522, 552, 632, 652)),
    ("IPv6 address", _S, _S, (501, 509, 522, 552, 632, 652)),
    ("Node IPv4 changed", _S, _S, (424, 432, 445, 480, 560, 590)),
    ("Node IPv6 changed", _S, _S, (441, 449, 462, 497, 577, 607)),
    ("Calico node '", _S, _S, (838, 850, 871, 904, 1002, 1021)),
    ("Error parsing IP", _S, _S, (810, 822, 843, 876, 958, 976)),
    ("Clearing out-of-date IPv4", _S, _S, (331, 339, 361, 385, 389, 409)),
    ("Clearing out-of-date IPv6", _S, _S, (336, 344, 366, 390, 394, 414)),
    ("Terminating", _U, _S, (1038, 1050, 1058, 1127, 48, 49)),
    ("Using AS number", _S, _S, (633, 645, 659, 686, 715, 725)),
    ("No AS number configured", _S, _S, (635, 647, 661, 688, 717, 727)),
    ("The AS number specified", _S, _S, (627, 639, 653, 680, 709, 719)),
    ("Setting NetworkUnavailable", _U, _S, (147, 149, 153, 697, 190, 191)),
    ("Unable to set node resource", _S, _S, (160, 162, 166, 170, 188, 190)),
    ("Unable to create '", _S, _S, (170, 172, 176, 180, 198, 200)),
    ("Unable to set global default", _S, _S, (172, 174, 178, 182, 200, 202)),
    ("Unable to write to", _S, _S, (176, 178, 182, 186, 204, 206)),
    ("Skipping IP", _S, _S, (540, 552, 566, 596, 676, 696)),
    ("Selected default IP pool", _S, _S, (548, 560, 574, 604, 684, 704)),
    ("FELIX_IPV6SUPPORT is", _S, _S, (522, 530, 544, 674, 688, 708)),
    ("CALICO_IPV", _S, _S, (522, 530, 544, 674, 688, 708)),
    ("IPv6 supported on this platform", _S, _S, (529, 537, 551, 681, 695, 715)),
    ("Created default IP", _S, _S, (598, 610, 624, 654, 820, 830)),
    ("Ignoring conflict when setting", _S, _S, (880, 892, 913, 946, 1044, 1063)),
    ("Using node name:", _S, _S, (176, 181, 185, 187, 207, 215)),
    ("Updated node IP addresses", _S, _S, (0, 0, 0, 226, 273, 280)),
    ("Assign a new tunnel address", "allocateip.go", "allocateip.go", (105, 109, 135, 305, 365, 382)),
    ("Assigned tunnel address", "allocateip.go", "allocateip.go", (130, 139, 170, 340, 400, 417)),
    ("Current address is", "allocateip.go", "allocateip.go", (95, 98, 124, 144, 145, 162)),
    ("Unable to autoassign", "allocateip.go", "allocateip.go", (120, 125, 150, 342, 402, 433)),
    ("migrating from host-local", "ipam_plugin.go", "ipam_plugin.go", (68, 68, 68, 68, 75, 75)),
    ("failed to migrate ipam", "ipam_plugin.go", "ipam_plugin.go", (95, 95, 95, 94, 98, 98)),
    ("migration from host-local", "ipam_plugin.go", "ipam_plugin.go", (100, 100, 100, 99, 103, 103)),
    ("KUBERNETES_NODE_NAME not", "ipam_plugin.go", "ipam_plugin.go", (73, 73, 73, 73, 80, 80)),
    ("checking host-local IPAM", "migrate.go", "migrate.go", (65, 65, 65, 65, 67, 67)),
    ("host-local IPAM data dir", "migrate.go", "migrate.go", (67, 67, 67, 67, 69, 69)),
    ("retrieving node for IPIP", "migrate.go", "migrate.go", (72, 72, 72, 72, 74, 76)),
    ("IPIP tunnel address", "migrate.go", "migrate.go", (80, 80, 80, 80, 82, 84)),
    ("Assigning IP", "migrate.go", "migrate.go", (96, 96, 96, 96, 98, 100)),
    ("acquiring lock on", "migrate.go", "migrate.go", (175, 175, 175, 175, 177, 177)),
    ("reading files from", "migrate.go", "migrate.go", (197, 197, 197, 197, 199, 199)),
    ("Error getting cluster information", "client.go", "client.go", (247, 250, 255, 255, 272, 290)),
    ("Failed to verify datastore", "main.go", "main.go", (190, 194, 202, 202, 225, 276)),
    ("Failed to initialize Calico", "main.go", "main.go", (105, 108, 113, 115, 120, 138)),
    ("Health endpoint failed", "health.go", "health.go", (210, 216, 236, 246, 296, 360)),
    ("Kernel's RPF check", "int_dataplane.go", "int_dataplane.go", (980, 1011, 1035, 1043, 1043, 1043)),
)


def place_of(message: str, release: tuple[int, ...]) -> tuple[str, int] | None:
    """File and line; None for a message that Calico has not."""
    newer = release >= (3, 19)
    column = max(0, sum(release >= since for since in _GENERATIONS) - 1)
    for beginning, since_319, before, lines in _PLACES:
        if message.startswith(beginning):
            return since_319 if newer else before, lines[column]
    return None
