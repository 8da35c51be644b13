"""Numbers as people read them: the same in the report and on the command line."""

_BYTE_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


def bytes_text(size: float) -> str:
    """Return a size with three digits and a decimal unit.

    >>> bytes_text(999), bytes_text(1_536_000), bytes_text(339_000_000_000)
    ('999 B', '1.54 MB', '339 GB')
    """
    unit = 0
    while round(size, 1 if size < 10 else 0) >= 1000 and unit < len(_BYTE_UNITS) - 1:
        size /= 1000
        unit += 1
    digits = 0 if unit == 0 or size >= 99.95 else 1 if size >= 9.995 else 2
    return f"{size:,.{digits}f} {_BYTE_UNITS[unit]}"


def share(part: float, whole: float) -> float | None:
    """Return a part as a fraction, None of nothing."""
    return part / whole if whole else None


def percent(fraction: float | None) -> str:
    """Return a fraction as a percentage that never rounds something to nothing or to all.

    >>> percent(0.5), percent(0.00001), percent(0.99999), percent(0), percent(None)
    ('50.0 %', '<0.1 %', '>99.9 %', '0 %', '–')
    """
    if fraction is None:
        return "–"
    if fraction in (0, 1):
        return f"{fraction:.0%}".replace("%", " %")
    if fraction < 0.001:
        return "<0.1 %"
    if 0.999 < fraction < 1:
        return ">99.9 %"
    return f"{fraction * 100:.1f} %"
