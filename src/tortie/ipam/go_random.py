"""The random numbers of Go's `math/rand`, as every Go program draws them from the same seed. Pure.

Calico picks a host's first block with them, so two programs that shall agree on it have to draw the same numbers. It is
an additive lagged Fibonacci generator with 607 words of state, which a small multiplicative generator and a fixed table
set up.
"""

from __future__ import annotations

import base64
import struct
from functools import lru_cache
from typing import Final

_WORDS: Final = 607
_TAP: Final = 273
_PRIME: Final = (1 << 31) - 1
_MASK: Final = (1 << 64) - 1


class GoRandom:
    """`rand.New(rand.NewSource(seed))`, as far as it is needed."""

    def __init__(self, seed: int) -> None:
        self._words = _seeded(seed)
        self._tap = 0
        self._feed = _WORDS - _TAP

    def uint64(self) -> int:
        self._tap = (self._tap - 1) % _WORDS
        self._feed = (self._feed - 1) % _WORDS
        value = (self._words[self._feed] + self._words[self._tap]) & _MASK
        self._words[self._feed] = value
        return value

    def int63(self) -> int:
        return self.uint64() & (_MASK >> 1)

    def uint32(self) -> int:
        return self.int63() >> 31

    def below(self, limit: int) -> int:
        """As Go's `big.Int.Rand`, from 0 to `limit` - 1: as many bits as the limit has, again until it is below."""
        bits = limit.bit_length()
        while True:
            value = 0
            for word in range(-(-bits // 64)):
                value |= (self.uint32() | self.uint32() << 32) << (64 * word)
            # Only the topmost word is cut.
            value &= (1 << bits) - 1
            if value < limit:
                return value


def _seeded(seed: int) -> list[int]:
    seed %= _PRIME
    x = seed or 89482311
    for _ in range(20):
        x = x * 48271 % _PRIME
    words = []
    for cooked in _table():
        value = 0
        for shift in (40, 20, 0):
            x = x * 48271 % _PRIME
            value ^= x << shift
        words.append((value ^ cooked) & _MASK)
    return words


@lru_cache(maxsize=1)
def _table() -> tuple[int, ...]:
    return struct.unpack(f">{_WORDS}Q", base64.b64decode(_COOKED))


# What the generator's state is after 7.8e12 steps.
_COOKED: Final = (
    "xfdKM+uY/+rAe0pBupZfWxNexRPLga8PSgT7XKdDleun6IMcdxDPjn1d5OiPN8HDYyHPd0P/halCywZVap/5YW4myNFA6NfSSadRHzQR+qBx7XdJ"
    "IqZQVZ1cn8Zf6i1cP72rOUoBQ2hw+jNZaZI0C64Q+07OpmoC95+8qYu80YqX98yxLqOArAGR15TK8ysbP2oyNCTjLK/GQsySHwEUK6Eihp9P84Bo"
    "pbGjESevOSBbB6T5vcKdlmoqlzwpgSWGaqQz2/d6UuGDlCFuO4rJntuAqcVRW5l8A8Py7/PL92mmteQx7v8hDA7IUzSZKVP1LmoUMt8Q0em95GKZ"
    "WdGxSWeZTDh2OHlRDhXUYVWbrmO9v5bE6dKgd7BPYoZq2iDzIZDaFkbbl79QcYc8GDKVej47UDoZ2pBLM+OIpfLHhSi+xwusGdDodwAlaXD4G/By"
    "99GKFPZPqIakbvl4tNRzTHgv8VcxJ6eOACQbCtWb66baxUlZH+lbL2GV+vKITC05VpwrvbDvNF0Li2A5UIziHu8VdnBUNdK7HV6QCvXx2PcekC0Y"
    "fX/UN38ie3yP4Ot5OHkOYgHru5hEgY6seSLhcQZY1sVQ2tNAhL+4lMxylpqnhVFB47MpvZyzFVaxuudGPKCQBPlob0kMUBRtflCHac012P+TWslw"
    "3pgYtKoVVNhN8379ZDPaoPWR6a0FsuBWF2frC9v4Pim4JHKSU1KZ8rrmRZdaXkzr7Op4FVw7wytOKV5TV6zobouQappPrbsI/VAIavZEY8mtA4Ws"
    "/RnW/Lvm1KXh0Tqf/AmfM7ebA5zZeCIkhAxaNRdOOLxF1RrPU/gvn1TeTj7hDfoKh7PvDuoJ2ex7Q5dpUZ7Dx8xMUBELR5kPxBPj1T8H4H7Pzlvi"
    "pdLQuLcZIr5FHuofyHzHYchQXt738dbd+27XjgAc6QXXzAo2RPRouhTCMdsuRCnQ4hzNmpCUPdNmSGn1KI/C0d3Fb2BOFo+1QVHkq7Cx+vbslkfo"
    "zqe5J3anQhh9vmHegHeNQEl4DjyScURGwmzkE2VHW8AZ53ALDgh4HWDYbRefDw/p1fVx4EduYr8ziG5XjHEM/1JOtOYk6FalnjiZpVSffItXgxia"
    "mAhTnAYCABS4/FnuslFUZ/OP/4uEmaYU9aYr5zo9UiJQi4KDK0xIOPUQn8doL/je0xyt8VzFPwzBcgUJQGtYJukAcVIQvJb6BwT+NTbTk/vGXJtu"
    "zK77SouvxzCSvkAZB/C1mdd4ieoY3gpJuPpYmy8XTnHJgw/wtHC3gKJnhd0gprdhI7FivpHvvSTNxYMi+3u3UCazJiPQPRyvmh8E0KXw+Qm8rukh"
    "Rqp87Z0cjgv82KeeemK2+TrEzwW86D8URcV5oAigN8RAU4iOUnkS0PiPoLIon3sXUfuvXSACvdqK5AOoEspHhA1+ojcyn6RQyz8EvwK28gjHlmQ+"
    "ijntM/2S157XW2QZIWghyLJY6KzpPTr/e0bpMTawhYz8tytqrl48n+f/EWcq9MOVORzCpebE/Qdv63Z2UO+1+zHt53NtfyQzWdv8rnGT50A0Dg/b"
    "j/Ufc6TG3ZKUU0tu+hypZsBqckUg1w1BMM0WvRkSBZKNRWtYDCzW3FxivA1qhCnvSHROqbjpOV4Y7xSCXISu4UoeMrc6ceI0D+5vJ8RSKMBGTi47"
    "4NLkoSO7Z/SC4WAIDxG1QegkcyeuffkMfSqv11Th9JYULDkaHUAO9iX6QnSZBpZmEM6eEyJFWTTXwcza5kFCObfakiC0n5CR9idVVoKRaz1kKIq9"
    "n1LQoccGb6BkKmZs+4zwoYydmB2wY62DY9+iYVi2fkrOPP426+zC37bk6yulU2T/b9IXng13F9G5caK3NiJH29vlzyXVEMU7kw8orXNzUmFald0B"
    "BH/rizCtsUBzWLRaf7RHdnhMEIMbIOj06wdUBtwnX0C2x8DZcy343aZ7Dye2JjevxITIhWHJhkmDi/Yx3wYf7jAnf1iV0yIFLawUVXrTBIbkeK7p"
    "MmciH0rO0UVHmAcFLDVmuKgCU1CnfqC5Qhp+wvwWnNNXJzqwUSmnALrk9/txn0PyHFvYV+i4v0ja1ZQYaXHzWT9Riq2cQnAUTEPDuMyOghiYH7pW"
    "b5LftwesqsVUNcCsX7CIEDjLvI/yQ7VVbL66c2MUnzA755/U9qreQx9xJHVM0qVXtsvCSyG8aXXBad5yyveM9Ax2gTTxPN1iShIVn9Vz0AQbOQ0+"
    "aeqL2Tut6AZXi689eM1h8jMYqTp/aJ3JLadQHL2+UjVbbUSMm7ESAANlZspm8jG0uJ5R6eK3N+RwRodUHJtozyjfKKNdKTfJi/6ydWlEsLUpwkFD"
    "wiNOnPT9eU+NAgaPBZDwaN8V5X3krZitq43ACUFVsYKBlKQGzkYwJ9T/dD/TBiMRaOwIRa4BmEmGwMM5zGGYNlaYDlq2tLISrz0FGnCq8UpwbOF6"
    "NUfLyZXeOkBiArjZ6ehWX4pJ6hgd26w0U6e8uShTzkGiqhMlRqFvOtbBZmNLyShikv9qzryToHF6QDKAqWzqUVoYO4+BZlokIitMgNLA5GSFnj1N"
    "WLo6prmig4nLL+Vjg6IMuJUS/uTL1pGwYbMMvYg5uvjzrJ8JXd8Ds+3RxLj2JpTEy4LtCdDGA7mHm9NghVja94BCZlfIf9sbYp4yq9d5ONUWhi/h"
    "4zpWlidZ7AAFG8gvF0uQ2as7XevK0lyGqHZr0N2bNdtCXya2g8oUh108K0CgdvZTdGTpinL41jQvAt0+6k54QUCXf+hCUnh3+/Aa1JIrHWLKlZwq"
    "i07qKWnKfKEQUzgCazZJY1cke9l/fAdkXKeyMrjGP6UK42d7oLf9dHA5R9gjH7Gg3IzgeRa2M0K3yW53zTmpCdfmgCcUJ2hbGcrs3ZycbNKOkbdN"
    "kcH7eQ4NOlR+Z9O9uBu2EdOW/A2J9uIRRX6s+7BJ6yId4Zeb9WVN1V1DbKdYXSjK09fihjIY2Xkvp748z50WRR+3p+F7nsywKysfztkpwoLYWpA3"
    "XmQxDcszahYRIn29Y2kl9br4cM1D4NAlS4RxXggOxXV3IZJHF17kD1j72XE9eMw2W6284YSVoHaDkDKVj4nA0zlqO1Njm6gciNiIpj+vjZx3XKeB"
    "6sQNP1GdKJMB/jHYx999xANtgAM4fdbbjAYh92giCpdZ1qjMeggnByrqVyr4RnVgHJEBNsn9+cPHPt3+EROF4nntuaKmo4ff1VbRetzF9vv3Jwn5"
    "ayijx1UtafBCjc5qnLu0vpqSwhZPN672yvQcXdNDERDN16mYPHwd5bPMHcoEgxGnYl6r2V7kHLQMqB4sQzhbaOUdv/zTah9w1Pmi/8rqzLknsMtc"
    "P92uQWPgEOQOf1RSqMke4H5hMVRYlwzLi4IcCxAFTHXERM8R+YQGCCU2t6dgL2tNMxeG1aEm+X/Jqc1wg3Lbk9fnWgdUJFHapOWhDShlkQSQJOvL"
    "+LjmrwgTfDOA8yUjMqMRGKleQl+9ZAthQIArHpZ+PNDxKxxfAxCJ6H+6uafxG/uzuj4IQTt/w60NHNNrv7L02Wi3WcNMhHVWSQXSAuCoCypiNvqD"
    "hqW4ZxqDOuN5YIgo64/ljQMry59XIecXEtIk5dx+Ft4p5ouCUeDUlSvASnUIywijhfg1pkgynSVNJ5n3l+wZqEQ6rcB28u0QiTV94nfkZxeveQeu"
    "tjydbCfOa+AE21s1m78CKNlb8diuMeF7JeGzYyPpQp6VfbkllQ5fqzx+aCUq6jZxv59ZM7LS70M5MhAsDX7SHsd/yMHqXxKA9I5iRxe3R83zEa5C"
    "4AEGDqn6g46sp1CMW8z8hKOqoIQ/BPlj+Un3pOjr06Uih2ve/UHfbMEkck8H5p58v0cN8j1aprQpmDUgmfWQuBHMkPRYlWU9A1UNoaso+NF4Qsxc"
    "Kxs02wi3mzaUrIQAv3LVC4T5biyUcHn46wj1kGlstyGCBQhy1Ihbyaw21adsuIi1ef6X4WKUghBSBOT9PO95CBa5NwG9p3omvhNlVvuPhhMU3ago"
    "CKK3uAOuW8/TyKke0DIxQIcAAaC4Z+w+5PbB+bCT3eWOCGvsvAuDeJ51UZfAb/zHJGcF7jTyBPjHknWC1RYmTLPhe6R1RhM8oz8RG1yqtOKiPY4W"
    "FEMlXkjxKLNE0IGcbNEi+zmrIE1cKRC/I482qpCurBDgX5u6nVS2sA/kKsroj2Q4eg/Ny8RaIF8BRzYJx2jtjra4yC3yJZINQ/0jrCW9rVqKgXlk"
    "fryc77kBWqs8HuePpOpzPeMOhdF1eSKkYRI9xeCB/iHchsEQeWdOZokYlz+5Grn7ANTuVcptjCrVAEdtUhW1tfxQaLPi6m0qIF2pEN0jy4WXm14R"
    "Np93WyvIcnR9ZerXlrqDqirBneeiJYcQ06Br1QK8+9kWk0PniO7NmSRrYnMjSzAbLTwDAjxhCV0JMey/wfvq4lPkRJib+NVuOdKIEO8CXjJ1hSdw"
    "O4HYO8alsm10Djrxc1ina1oEkWEMIXg3sjTATulwe7ro1nSBzxLDJD3BqAcS3hTflkbNBWJl5AXJ7VuF/l3iI8A05jCVFMoApVyxqeo16b2DWF2s"
    "FBjPTMa/5rZ65x367d5qgJWEFZiMR4B0pmEI00n0+yhJJgHEbB8emmXnrLhEw/Ig4KOjX8RCJ5esFg1+qb7VWhGtLBUpvb4s3lKsjaJIbtAWOPsM"
    "e+kf3Y+iUFhtBslKIRjPUL4Z8rn8tknlbaMQ0N3v5wKdtNYZf+docKGo6W3UhOtjooA9/YL4WRY6GgpE12RMRholGIu1Uqpi+j6rGMYgvREz0k9O"
    "3RDqmThtOSVlNsxsYH51nvsroeiSHrs9fGxgcZa6awiPhmkvsr0q6ur+0nm3DMLe86sQrCscEoSwttsr19TE21u9/5I/W4GQoKAkHht59kV+YM+u"
    "oFwxjJQYHpE0gKZxsDPj1XV5lV77uqdVJ3fJ9tDGsNcqDyHC9mYsQ8KGtLxFhpu8PeJmschu0kkFlkeO6AlCxW/TYYsu5q4bPwgHOj5d6ncOeEfQ"
    "HW5xr80fga/E+6r+JL5xxgd4yUAdwrbfBGqWIdCUTpOVD2zP4sdnBB6jQAdSG/nJIGV2xoZreivXcV5Repd1PIx5NkFS2qwZeEpl5AfTEQt8c/fr"
    "pmsnP7zEKbcWMC3IWnVUCshA03AKVuTe1odTA/zQW/+rvu0GpeMliHWKZSb4Y2o6Ab562ujmIDjJtL7HW8T0Ctx6ac4Kn8HD+T+FPArbqmS+SLhl"
    "jjnVtlIzzIjzB8uFgfSMVmdG5ATm5ysvPhERkm7jrV17QzPVO+v4Cr9E414yTz36KZY3LKYJANWE0ylPz7OXB9PgF8jTPNEJClbyN/rhesflYF1D"
    "yMAQbw6tRBmJu6gDeypgvmmZmDwSplV9KeyyidT8Y1HcTj7DCIiNIiSSGIx8EVanR2UCeBz4WhCOXV2zscELRBW/9mI7qR63cWoou6PwnGXX9HYH"
    "yS8w8Z4EkHg0h52tphHFl5XbcJmadMdDFXWKo1NtTEARbzI5UlOaxYetl9AfGhZ18olZw4xtePVhnoMkKvHP5WPv960/nSIS5clLHX4CPUZ7N7Yf"
    "+qt2ravu6WvP+V3Zkmti0TqieKYhctt2mYKr5RnIyGc0whGN8fWFfvpzdrZAE2yAmKfQTKKa3i9tnxSwTXfnfks9rQSL7UehTJ7l5JMdMjG69Oul"
    "Q/M9Cnk6r6Bzc9kmmG6mD+azmjLjHzRPZmNh5vIcvtxEwEnLxPdSoOteVAOvG5nifUEFIFknQKDluMPdBPxOpftEbJetblh/R6/npt5ULBN7g4Sk"
    "Kg/8D3swHlyCBUcwCl2K9NPGOcIIfcB5CkZ8qHCaK7biQrtrtNo23mB5sFMeyQN2BYzPmNwYQ/eEF7QXsBGuweze3U/w3WQbjDeHKCNJ6DLV8LuI"
    "Fufo+4W2UEgP2ML0fUWqc092C21ZYkKFU9IIFEAOK6AZaOfEB34ZuaP3YAAdF1WPYWQDDHl1MUjA5sWfmnfS8u872ENmbriNhwHhb1Vy5840KIZo"
    "642CsVSR1gd3wmWnGuu+VElH3d1vPp4HYo3+Y1x5VYYiZz451D/5m2N+CG3HjPUi7jfjZp9+nGaS17tHpK/oOB+eq9/b4re9Mk/KavK1wdFZ5KFS"
    "UlsbKXyR0QqNdXQOzHxTOn/KldgSZvv3c4ax22iaZrpG0cO9S9ZxsSS1cBosQ/0Knq7ATVgUMRfk4WVVg1jFuxJIrCOq9ne9gOMKxfyZciek8H+P"
    "qEjMXZyw4VBkCnEesOSbQWT8v6Adyjl4mAqrL/9rx4Q5XGdQqkLmXih/6kyWlfP0lRY2F0n2QorJd9WSmZ8hlMRRZtn2k1/4p/UDoo9DHKlR06PD"
    "Ub4Q7PV54IAWKJbp5bXpOFsgKCT7uh5KWbDGDKjeZVgpqrIH4d4EjceLOC50U1qWzHrf135XoZtzXvA7OaAKOjHAJcY="
)
