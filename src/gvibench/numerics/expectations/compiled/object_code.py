"""Map object code into memory without llvmlite, whose import takes longer than all other steps.

This covers relocatable ELF files for x86-64 whose relocations are 64-bit addresses, as LLVM emits
them for its large code model. For anything else, `map_object` raises `UnsupportedObjectError`.
"""

import ctypes
import mmap
import struct
from typing import Any, NamedTuple

__all__ = ["UnsupportedObjectError", "map_object"]

_HEADER = struct.Struct("<4sBB10xHH20xQ10xHHH")
_MAGIC, _BITS_64, _LITTLE_ENDIAN, _RELOCATABLE, _X86_64 = b"\x7fELF", 2, 1, 1, 62
_SECTION = struct.Struct("<IIQQQQIIQQ")
_PROGRAM_DATA, _SYMBOL_TABLE, _RELOCATIONS = 1, 2, 4
_IS_LOADED = 2
_SYMBOL = struct.Struct("<IBBHQQ")
_UNDEFINED = 0
_RELOCATION = struct.Struct("<QQq")
_ADDRESS_64 = 1


class UnsupportedObjectError(Exception):
    """The object code needs a linker that can do more than this module."""


class _Symbol(NamedTuple):
    name: str
    section: int
    offset: int


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


def map_object(code: bytes, entry: str) -> tuple[int, Any]:
    """Return the address of the function `entry`, and the memory that holds it.

    The function can be called as long as the memory object is referenced.
    """
    sections = _read_sections(code)
    starts: dict[int, int] = {}
    size = 0
    for index, section in enumerate(sections):
        if section.kind == _PROGRAM_DATA and section.flags & _IS_LOADED:
            size = -(-size // section.alignment) * section.alignment
            starts[index] = size
            size += section.size
    memory = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for index, start in starts.items():
        section = sections[index]
        memory[start : start + section.size] = code[section.offset :][: section.size]
    symbols = _read_symbols(code, sections)
    addresses = {index: base + start for index, start in starts.items()}
    for section in sections:
        if section.kind == _RELOCATIONS and section.info in starts:
            for offset, info, addend in _entries(code, section, _RELOCATION):
                if info & 0xFFFFFFFF != _ADDRESS_64:
                    raise UnsupportedObjectError("a relocation is not a 64-bit address")
                target = _resolve(symbols[info >> 32], addresses) + addend
                struct.pack_into("<Q", memory, starts[section.info] + offset, target)
    _make_executable(base, len(memory))
    for symbol in symbols:
        if symbol.name == entry:
            return _resolve(symbol, addresses), memory
    raise UnsupportedObjectError(f"the object code has no function {entry!r}")


def _read_sections(code: bytes) -> list[_Section]:
    magic, bits, order, kind, machine, start, _, count, _ = _HEADER.unpack_from(code)
    expected = (_MAGIC, _BITS_64, _LITTLE_ENDIAN, _RELOCATABLE, _X86_64)
    if (magic, bits, order, kind, machine) != expected:
        raise UnsupportedObjectError("not a relocatable ELF file for x86-64")
    table = code[start : start + count * _SECTION.size]
    return [_Section(*fields) for fields in _SECTION.iter_unpack(table)]


def _read_symbols(code: bytes, sections: list[_Section]) -> list[_Symbol]:
    for section in sections:
        if section.kind == _SYMBOL_TABLE:
            names = sections[section.link].offset
            return [
                _Symbol(_read_text(code, names + name), index, value)
                for name, _, _, index, value, _ in _entries(code, section, _SYMBOL)
            ]
    raise UnsupportedObjectError("the object code has no symbols")


def _entries(code: bytes, section: _Section, layout: struct.Struct) -> Any:
    return layout.iter_unpack(code[section.offset : section.offset + section.size])


def _read_text(code: bytes, start: int) -> str:
    return code[start : code.index(b"\0", start)].decode()


def _resolve(symbol: _Symbol, addresses: dict[int, int]) -> int:
    """Return the address of a symbol, given the addresses of the loaded sections."""
    if symbol.section in addresses:
        return addresses[symbol.section] + symbol.offset
    if symbol.section != _UNDEFINED:
        raise UnsupportedObjectError(f"the section of symbol {symbol.name!r} is not loaded")
    try:
        function = getattr(ctypes.CDLL(None), symbol.name)  # memset, memcpy
    except AttributeError as error:
        raise UnsupportedObjectError(f"no loaded library defines {symbol.name!r}") from error
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _make_executable(start: int, size: int) -> None:
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if protect(start, size, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
        raise UnsupportedObjectError("the operating system refuses executable memory")
