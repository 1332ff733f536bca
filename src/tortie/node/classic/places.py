"""Where in Calico's sources a line of the log comes from, as its logs show it. Pure.

The numbers of what a start says are those of one release of each generation; of other parts they are of the right
order. Nobody should read more out of them than which generation it is.
"""

from __future__ import annotations

from typing import Final

_GENERATIONS: Final = ((3, 0), (3, 4), (3, 9), (3, 14), (3, 18), (3, 20), (3, 22), (3, 25))

_Files = str | tuple[tuple[int, int], str]

# Moved out of startup.go, and since when.
_S: Final = "startup.go"
_L: Final = ((3, 4), "startup_linux.go")
_U: Final = ((3, 20), "utils.go")
_D: Final = ((3, 22), "autodetection_methods.go")

# How the message begins, the file, and its line in each generation.
_PLACES: Final[tuple[tuple[str, _Files, tuple[int, ...]], ...]] = (
    ("Early log level set to", _S, (187, 256, 309, 386, 390, 396, 427, 431)),
    ("Failed to parse log level", _S, (182, 251, 304, 381, 385, 391, 422, 426)),
    ("Using NODENAME environment", _U, (272, 272, 325, 402, 406, 126, 126, 126)),
    ("Using stored node name", _U, (274, 274, 327, 404, 408, 128, 128, 128)),
    ("Using HOSTNAME environment", _U, (276, 276, 329, 406, 410, 130, 130, 130)),
    ("Using auto-detected node name", _U, (281, 281, 334, 411, 415, 135, 135, 135)),
    ("Determined node name:", _U, (284, 284, 337, 414, 418, 138, 138, 138)),
    ("Starting node", _S, (103, 103, 103, 103, 103, 98, 94, 95)),
    ("Checking datastore connection", _S, (217, 316, 369, 446, 450, 401, 432, 436)),
    ("Hit error connecting to datastore", _S, (232, 331, 384, 461, 465, 416, 447, 451)),
    ("Connection to the datastore is unauthorized", _S, (229, 328, 381, 458, 462, 413, 444, 448)),
    ("Datastore connection verified", _S, (241, 340, 393, 470, 474, 425, 456, 460)),
    ("Datastore is ready", _S, (98, 95, 104, 112, 113, 108, 104, 105)),
    ("Skipping datastore connection test", _S, (100, 97, 106, 114, 115, 110, 106, 107)),
    ("Building new node resource", _S, (271, 367, 420, 496, 500, 439, 470, 474)),
    ("Unable to query node configuration", _S, (266, 362, 415, 491, 495, 434, 465, 469)),
    ("Unable to access datastore to query", _S, (267, 363, 416, 492, 496, 435, 466, 470)),
    ("Initiali", _S, (286, 382, 435, 511, 515, 454, 485, 489)),
    ("Using autodetected IP", _D, (483, 584, 671, 765, 774, 713, 103, 103)),
    ("Auto-detected address by connecting", "reachaddr.go", (46, 46, 46, 46, 46, 46, 47, 47)),
    ("Unable to auto-detect", _D, (479, 580, 667, 761, 770, 709, 99, 99)),
    ('Invalid CIDR "', _D, (728, 728, 728, 728, 737, 676, 68, 68)),
    ("Invalid interface regex", "interfaces.go", (49, 49, 49, 49, 49, 49, 50, 50)),
    ("Invalid IP autode", _D, (467, 568, 655, 749, 758, 697, 87, 87)),
    ("Cannot use method", "autodetection_methods.go", (80, 80, 80, 80, 80, 80, 80, 80)),
    ("Including CIDR information", _D, (1430, 1430, 1430, 1430, 1430, 1329, 229, 229)),
    ("Autodetection of IP", _S, (314, 410, 463, 539, 543, 482, 513, 517)),
    ("Autodetection for IP", _S, (543, 543, 543, 543, 547, 486, 517, 521)),
    ("Couldn't autodetect", _S, (308, 404, 457, 533, 537, 476, 507, 511)),
    ("Using IPv4 address from environment", _S, (375, 476, 529, 606, 615, 554, 585, 589)),
    ("Using IPv6 address from environment", _S, (375, 476, 529, 606, 615, 554, 585, 589)),
    ("Environment does not contain", _S, (372, 473, 526, 603, 612, 551, 582, 586)),
    ("Unable to confirm IP", _S, (413, 514, 567, 644, 653, 592, 623, 627)),
    ("IPv4 address has changed", _S, (745, 866, 998, 1113, 1123, 1062, 978, 990)),
    ("IPv6 address has changed", _S, (749, 870, 1002, 1117, 1127, 1066, 982, 994)),
    ("IPv4 address", _S, (408, 509, 562, 639, 648, 587, 618, 622)),
    ("IPv6 address", _S, (408, 509, 562, 639, 648, 587, 618, 622)),
    ("Node IPv4 changed", _S, (351, 452, 505, 582, 591, 530, 561, 565)),
    ("Node IPv6 changed", _S, (355, 456, 509, 586, 595, 534, 565, 569)),
    ("Calico node '", _S, (757, 878, 1010, 1125, 1135, 1074, 990, 1002)),
    ("Error parsing IP", _S, (708, 826, 958, 1073, 1083, 1022, 938, 950)),
    ("Clearing out-of-date IPv4", _S, (210, 210, 263, 350, 354, 360, 391, 395)),
    ("Clearing out-of-date IPv6", _S, (214, 214, 267, 354, 358, 364, 395, 399)),
    ("Terminating", _U, (943, 1057, 1214, 1337, 1347, 48, 48, 48)),
    ("Using AS number", _S, (541, 642, 729, 837, 846, 785, 696, 706)),
    ("No AS number configured", _S, (546, 647, 734, 842, 851, 790, 701, 712)),
    ("The AS number specified", _S, (538, 639, 726, 834, 843, 782, 693, 703)),
    ("Setting NetworkUnavailable", _U, (149, 149, 201, 191, 195, 190, 190, 190)),
    ("Unable to set node resource", _S, (135, 164, 217, 207, 211, 191, 201, 194)),
    ("Unable to create '", _L, (783, 31, 31, 52, 52, 51, 43, 43)),
    ("Unable to set global default", _S, (144, 173, 226, 216, 220, 200, 210, 207)),
    ("Unable to write to", _U, (253, 350, 403, 480, 484, 107, 107, 107)),
    ("Skipping IP", _S, (566, 682, 768, 876, 885, 824, 735, 747)),
    ("Selected default IP pool", _S, (957, 957, 957, 957, 967, 906, 818, 830)),
    ("FELIX_IPV6SUPPORT is", _S, (429, 530, 617, 697, 706, 645, 676, 680)),
    ("CALICO_IPV", _S, (429, 530, 617, 697, 706, 645, 676, 680)),
    ("IPv6 supported on this platform", _L, (646, 79, 79, 100, 100, 99, 91, 91)),
    ("Created default IP", _S, (689, 806, 938, 1053, 1063, 1002, 918, 930)),
    ("Ignoring conflict when setting", _S, (831, 919, 1068, 1191, 1201, 1140, 1056, 1068)),
    ("Using node name:", _S, (153, 181, 234, 224, 228, 208, 218, 215)),
    ("Updated node IP addresses", _S, (315, 315, 315, 315, 319, 325, 356, 358)),
    ("Assign a new tunnel address", "allocateip.go", (105, 109, 135, 305, 365, 365, 365, 382)),
    ("Assigned tunnel address", "allocateip.go", (130, 139, 170, 340, 400, 400, 400, 417)),
    ("Current address is", "allocateip.go", (95, 98, 124, 144, 145, 145, 145, 162)),
    ("Unable to autoassign", "allocateip.go", (120, 125, 150, 342, 402, 402, 402, 433)),
    ("migrating from host-local", "ipam_plugin.go", (68, 68, 68, 68, 75, 75, 75, 75)),
    ("failed to migrate ipam", "ipam_plugin.go", (95, 95, 95, 94, 98, 98, 98, 98)),
    ("migration from host-local", "ipam_plugin.go", (100, 100, 100, 99, 103, 103, 103, 103)),
    ("KUBERNETES_NODE_NAME not", "ipam_plugin.go", (73, 73, 73, 73, 80, 80, 80, 80)),
    ("checking host-local IPAM", "migrate.go", (65, 65, 65, 65, 67, 67, 67, 67)),
    ("host-local IPAM data dir", "migrate.go", (67, 67, 67, 67, 69, 69, 69, 69)),
    ("retrieving node for IPIP", "migrate.go", (72, 72, 72, 72, 74, 74, 74, 76)),
    ("IPIP tunnel address", "migrate.go", (80, 80, 80, 80, 82, 82, 82, 84)),
    ("Assigning IP", "migrate.go", (96, 96, 96, 96, 98, 98, 98, 100)),
    ("acquiring lock on", "migrate.go", (175, 175, 175, 175, 177, 177, 177, 177)),
    ("reading files from", "migrate.go", (197, 197, 197, 197, 199, 199, 199, 199)),
    ("Error getting cluster information", "client.go", (247, 250, 255, 255, 272, 272, 272, 290)),
    ("Failed to verify datastore", "main.go", (190, 194, 202, 202, 225, 225, 225, 276)),
    ("Failed to initialize Calico", "main.go", (105, 108, 113, 115, 120, 120, 120, 138)),
    ("Health endpoint failed", "health.go", (210, 216, 236, 246, 296, 296, 296, 360)),
    ("Kernel's RPF check", "int_dataplane.go", (980, 1011, 1035, 1043, 1043, 1043, 1043, 1043)),
    ("Attempt to get the local CIDR", _S, (554, 554, 554, 554, 554, 493, 524, 528)),
    ("Unable to find matching host interface", _D, (1437, 1437, 1437, 1437, 1437, 1336, 236, 236)),
    ("No IPv4 or IPv6 addresses", _S, (265, 265, 265, 265, 269, 275, 280, 282)),
    ("No IP Addresses configured", _S, (446, 446, 499, 499, 499, 499, 499, 499)),
    ("Ensure default IP", _S, (679, 796, 928, 1043, 1053, 992, 908, 920)),
    ("Failed to create default", _S, (685, 802, 934, 1049, 1059, 998, 914, 926)),
    ("Invalid configuration with", _S, (562, 678, 764, 872, 881, 820, 731, 743)),
    ("Unable to convert blocksize", _S, (573, 573, 573, 650, 659, 598, 629, 633)),
    ("Invalid blocksize", _S, (584, 584, 584, 661, 670, 609, 640, 644)),
    ("Invalid node selector", _S, (599, 599, 599, 679, 688, 627, 658, 662)),
    ("Unrecognized IPIP", _S, (664, 769, 897, 1012, 1022, 961, 876, 888)),
    ("Unrecognized VXLAN", _S, (780, 780, 910, 1025, 1035, 974, 889, 901)),
    ("Error parsing CIDR", _S, (586, 703, 830, 938, 947, 886, 798, 810)),
    ("Unable to fetch IP pool", _S, (575, 692, 819, 927, 936, 875, 787, 799)),
    ("Invalid CIDR specified in", _S, (602, 719, 846, 961, 971, 910, 822, 834)),
    ("Failed to clear node", _S, (226, 226, 279, 366, 370, 376, 407, 411)),
    ("Neither --kubeconfig", "winutils.go", (150, 150, 150, 150, 150, 150, 150, 150)),
    ("error creating inClusterConfig", "winutils.go", (155, 155, 155, 155, 155, 155, 155, 155)),
    ("IPPool is configured with", "ippool.go", (414, 414, 414, 414, 414, 414, 414, 414)),
    ("Using IPv4 address from", _S, (375, 476, 529, 606, 615, 554, 585, 589)),
)


def place_of(message: str, release: tuple[int, ...]) -> tuple[str, int] | None:
    """File and line; None for a message that Calico has not."""
    column = max(0, sum(release >= since for since in _GENERATIONS) - 1)
    for beginning, file, lines in _PLACES:
        if message.startswith(beginning):
            return _file_of(file, release), lines[column]
    return None


def _file_of(file: _Files, release: tuple[int, ...]) -> str:
    if isinstance(file, str):
        return file
    since, moved = file
    return moved if release >= since else _S
