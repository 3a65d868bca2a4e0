"""
The drawings of the HTML report, as inline SVG.

Several small ones rather than one large: they stand side by side on a desk and below each other on a
phone, always at a readable size. Built as an XML tree, so no text can become markup; colours come from
classes, as the page's security policy allows no style attributes.
"""

from math import cos, pi, sin
from xml.etree.ElementTree import Element, SubElement, tostring

from rdmadiag.report.picture import Bound, Picture, Ring, Slot

WIDTH = 360
_CENTRE = 150
_MARGIN, _BOX, _PER_ROW, _CELL = 8, 140, 14, 24


def ends(drawn: Picture) -> str:
    """Return the two ends, the device under the near one, and its queues."""
    rows = (len(drawn.queues) + 1) // 2
    device_height = 34 + 44 * rows if drawn.device else 0
    slots_top = 112 + device_height + (12 if drawn.device else 0)
    height = slots_top + _slots_height(drawn) - (8 if not drawn.slots else 0)
    svg = _svg(WIDTH, height, _ends_words(drawn))
    _link(svg, drawn)
    _end(svg, _MARGIN, drawn.here, drawn.here_note)
    _end(svg, WIDTH - _MARGIN - _BOX, drawn.there, drawn.there_note)
    if drawn.device:
        _device(svg, drawn, device_height)
    _slots(svg, drawn, slots_top)
    return _markup(svg)


def ring(drawn: Ring) -> str:
    """Return a ring: slot 0 on top, clockwise, with its pointers and what is in flight."""
    name = {"recv": "receive"}.get(drawn.name, drawn.name)
    words = f"{name} ring: {drawn.in_flight} of {drawn.nr} entries in flight, allocation pointer {drawn.alloc_ptr}, free pointer {drawn.free_ptr}"
    svg = _svg(2 * _CENTRE, 222, words)
    svg.set("class", "ring")
    _text(svg, _CENTRE, 16, f"{name} ring", "t-head", anchor="middle")
    _add(svg, "circle", "ring-base", cx=_CENTRE, cy=122, r=62)
    _in_flight(svg, drawn)
    _text(svg, _CENTRE, 122, f"{drawn.in_flight:,}", "t-big", anchor="middle")
    _text(svg, _CENTRE, 141, f"of {drawn.nr:,} in flight", "t-note", anchor="middle")
    _pointers(svg, drawn)
    return _markup(svg)


def bound(drawn: Bound) -> str:
    """Return a bar: how much of the longest possible wait has passed; empty without a limit."""
    if drawn.limit is None or drawn.waited < 0 or drawn.limit < 0:
        return ""
    whole = drawn.waited + drawn.limit or 1.0
    svg = _svg(WIDTH, 14, f"{drawn.waited:.1f} s waited, at most {drawn.limit:.1f} s to go")
    _add(svg, "rect", "bar-rest", x=0, y=1, width=WIDTH, height=12, rx=6)
    _add(svg, "rect", "bar-done", x=0, y=1, width=WIDTH * drawn.waited / whole, height=12, rx=6)
    return _markup(svg)


def _ends_words(drawn: Picture) -> str:
    queues = "; ".join(f"{name} {text}" for name, text, _ in drawn.queues)
    parts = [
        f"{drawn.here or 'this end'} to {drawn.there or 'the other end'}",
        f"state {drawn.state}" if drawn.state else "",
        " ".join(drawn.device),
        queues,
    ]
    return ", ".join(p for p in parts if p)


def _link(svg: Element, drawn: Picture) -> None:
    left, right = _MARGIN + _BOX / 2, WIDTH - _MARGIN - _BOX / 2
    kind = "link-up" if drawn.up else "link-down"
    _add(svg, "path", kind, d=f"M{left:g} 62 V84 H{right:g} V62")
    if drawn.device:
        _add(svg, "path", "wire", d=f"M{left:g} 84 V112")
    if drawn.state:
        width = 7.4 * min(len(drawn.state), 20) + 20
        _add(
            svg, "rect", f"pill {kind}", x=(WIDTH - width) / 2, y=72, width=width, height=24, rx=12
        )
        kind = f"t-pill {kind}"
        _text(svg, WIDTH / 2, 88, drawn.state, kind, anchor="middle", room=148, letter=7.4)


def _end(svg: Element, x: float, name: str, note: str) -> None:
    _add(svg, "rect", "box", x=x, y=8, width=_BOX, height=54, rx=6)
    _text(svg, x + 10, 31, name or "?", "t-mono", room=_BOX - 20, letter=7.3)
    _text(svg, x + 10, 50, note, "t-note", room=_BOX - 20, letter=6.2)


def _device(svg: Element, drawn: Picture, height: float) -> None:
    _add(svg, "rect", "box", x=_MARGIN, y=112, width=WIDTH - 2 * _MARGIN, height=height, rx=6)
    _text(svg, 18, 132, drawn.device[0], "t-mono", room=150, letter=7.3)
    _text(svg, WIDTH - 18, 132, " ".join(drawn.device[1:]), "t-note", anchor="end", room=160)
    for number, (name, text, bad) in enumerate(drawn.queues):
        x, y = 16 + 166 * (number % 2), 140 + 44 * (number // 2)
        kind = "queue bad" if bad else "queue"
        _add(svg, "rect", kind, x=x, y=y, width=162, height=38, rx=4)
        _text(svg, x + 8, y + 15, name, "t-small" + (" bad" if bad else ""))
        _text(svg, x + 8, y + 31, text, "t-value", room=148, letter=6.6)


def _slots_height(drawn: Picture) -> float:
    rows = -(-len(drawn.slots) // _PER_ROW)
    return 24 + rows * _CELL + 8 if rows else 0


def _slots(svg: Element, drawn: Picture, top: float) -> None:
    if not drawn.slots:
        return
    states = [s.state for s in drawn.slots]
    tally = ", ".join(f"{states.count(s)} {s}" for s in ("live", "stuck", "idle") if s in states)
    more = f", {drawn.more_slots} more not drawn" if drawn.more_slots else ""
    _text(svg, _MARGIN, top + 14, f"queues: {tally}{more}", "t-small")
    for number, slot in enumerate(drawn.slots):
        row, column = divmod(number, _PER_ROW)
        _slot(svg, slot, _MARGIN + column * _CELL, top + 22 + row * _CELL)


def _slot(svg: Element, slot: Slot, x: float, y: float) -> None:
    group = _add(svg, "g", f"slot {slot.state}")
    SubElement(group, "title").text = f"queue {slot.label}: {slot.state}"
    _add(group, "rect", "", x=x, y=y, width=_CELL - 4, height=_CELL - 4, rx=3)
    _text(group, x + _CELL / 2 - 2, y + 14, slot.label, "t-slot", anchor="middle", room=18)


def _in_flight(svg: Element, drawn: Ring) -> None:
    if drawn.in_flight == drawn.nr:
        _add(svg, "circle", "ring-out", cx=_CENTRE, cy=122, r=62)
    elif drawn.in_flight:
        start, end = drawn.free_ptr / drawn.nr, (drawn.free_ptr + drawn.in_flight) / drawn.nr
        (x0, y0), (x1, y1) = _at(start, 62), _at(end, 62)
        large = 1 if drawn.in_flight * 2 > drawn.nr else 0
        _add(svg, "path", "ring-out", d=f"M{x0:.2f} {y0:.2f} A62 62 0 {large} 1 {x1:.2f} {y1:.2f}")


def _pointers(svg: Element, drawn: Ring) -> None:
    alloc, free = drawn.alloc_ptr / drawn.nr, drawn.free_ptr / drawn.nr
    if alloc == free:
        _pointer(svg, alloc, "alloc", ["alloc =", f"free {drawn.alloc_ptr}"], 0)
        return
    apart = (alloc - free) % 1
    push = 8 if min(apart, 1 - apart) < 0.04 else 0
    _pointer(svg, alloc, "alloc", [f"alloc {drawn.alloc_ptr}"], -push)
    _pointer(svg, free, "free", [f"free {drawn.free_ptr}"], push)


def _pointer(svg: Element, turn: float, kind: str, lines: list[str], push: float) -> None:
    (x0, y0), (x1, y1), (x, y) = _at(turn, 52), _at(turn, 76), _at(turn, 84)
    _add(svg, "path", f"pointer {kind}", d=f"M{x0:.2f} {y0:.2f} L{x1:.2f} {y1:.2f}")
    upright = abs(x - _CENTRE) < 20
    # Beside the ring where there is room, centred above and below it where there is not.
    anchor = "middle" if upright else "start" if x > _CENTRE else "end"
    lift = (6 if y > 122 else -2) if upright else 4
    if upright:
        lines = [" ".join(lines)]
    for number, line in enumerate(lines):
        place = y + lift + push + 13 * number
        _text(
            svg, x, place, line, f"t-small {kind}", anchor=anchor, room=70 if not upright else 160
        )


def _at(turn: float, radius: float) -> tuple[float, float]:
    return _CENTRE + radius * sin(2 * pi * turn), 122 - radius * cos(2 * pi * turn)


def _svg(width: float, height: float, words: str) -> Element:
    return Element(
        "svg", {"viewBox": f"0 0 {width:g} {height:g}", "role": "img", "aria-label": words}
    )


def _add(parent: Element, tag: str, kind: str, **values: float | str) -> Element:
    attributes = {k: v if isinstance(v, str) else f"{v:g}" for k, v in values.items()}
    return SubElement(parent, tag, {"class": kind, **attributes} if kind else attributes)


def _text(
    parent: Element,
    x: float,
    y: float,
    text: str,
    kind: str,
    anchor: str = "start",
    room: float = WIDTH,
    letter: float = 6.4,
) -> None:
    """Add *text*, its middle left out when it is wider than *room* (*letter*: width of one)."""
    element = _add(parent, "text", kind, x=x, y=y, **{"text-anchor": anchor})
    fits = max(3, int(room / letter))
    element.text = text
    if len(text) > fits:
        half = (fits - 1) // 2
        element.text = f"{text[: fits - 1 - half]}…{text[-half:]}"
        SubElement(element, "title").text = text


def _markup(svg: Element) -> str:
    return tostring(svg, encoding="unicode")
