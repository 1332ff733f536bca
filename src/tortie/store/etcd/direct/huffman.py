"""The Huffman code of HPACK (RFC 7541, appendix B), for reading.

It is a canonical code, so the lengths of the codes say all: one letter for each byte and one for the end of the text,
which must never appear. `0` stands for no bit, and so on in ASCII's order.
"""

from __future__ import annotations

from tortie.model.light import Final

_LENGTHS: Final = (
    r"=GLLLLLLLHNLLNLLLLLLLLNLLLLLLLLL6::<=68;::8;8666555666666678?6<:=67777777777777777777777878=C=>6?565"
    r"65666577666567655677777?;>=LDFDDFFFGFGGGGGHGHHFGHGGGGEFGFGGHFEDFFGGEGFFHEFGGEEFEGFGGDFFFGFFGJJDCFGFI"
    r"JJJKKJHICEJKKJKHEEJJLKKKDHDEFEEGFFIIHHJGJKJJKKKKKLKKKKKJN"
)
_END: Final = 256


def _made() -> dict[tuple[int, int], int]:
    """From length and code to the symbol."""
    lengths = [ord(letter) - ord("0") for letter in _LENGTHS]
    codes: dict[tuple[int, int], int] = {}
    code = before = 0
    for symbol in sorted(range(len(lengths)), key=lambda symbol: (lengths[symbol], symbol)):
        code <<= lengths[symbol] - before
        before = lengths[symbol]
        codes[before, code] = symbol
        code += 1
    return codes


_CODES: Final = _made()


def decoded(data: bytes) -> bytes:
    """`ValueError` when that is no text in this code."""
    text = bytearray()
    length = code = 0
    for byte in data:
        for shift in range(7, -1, -1):
            length, code = length + 1, code << 1 | byte >> shift & 1
            symbol = _CODES.get((length, code))
            if symbol is None:
                continue
            if symbol == _END:
                raise ValueError("the end of a text within it")
            text.append(symbol)
            length = code = 0
    # What fills up the last byte is the beginning of the end's code: ones, and fewer than eight.
    if length > 7 or code != (1 << length) - 1:
        raise ValueError("a text that ends within a letter")
    return bytes(text)
