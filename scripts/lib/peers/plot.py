"""A drawing of scripts/bench-peers: MB/s against MB stored, a panel for each data set, a point for each tool. Both scales are
logarithmic. A ring, joined to its point, is the same tool after its volume was settled. The drawing is SVG, written by hand."""
import math
from xml.sax.saxutils import escape

from . import figures

PANEL_WIDTH, PANEL_HEIGHT = 400, 320
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 36, 48  # of the frame, in a panel
FONT_SIZE = 12
LETTER_WIDTH = 7  # about what a letter takes
INK, GRID, ACCENT, OTHER = "#202020", "#e4e4e4", "#c03028", "#3060a0"
MARGIN = 1.3  # of the scale beyond the outermost points, as a factor


def number(value):
    return f"{value:.1f}".rstrip("0").rstrip(".")


class Scale:
    """A logarithmic axis from `begin` to `end`, in units of the drawing."""

    def __init__(self, values, begin, end):
        self.lowest, self.highest = min(values) / MARGIN, max(values) * MARGIN
        if self.highest / self.lowest < 4:  # so that there are a few ticks
            middle = math.sqrt(self.lowest * self.highest)
            self.lowest, self.highest = middle / 2, middle * 2
        self.begin, self.end = begin, end

    def __call__(self, value):
        part = math.log(value / self.lowest) / math.log(self.highest / self.lowest)
        return self.begin + part * (self.end - self.begin)

    def ticks(self):
        """Round numbers, at most eight: the closest together that this allows."""
        powers = range(math.floor(math.log10(self.lowest)), math.ceil(math.log10(self.highest)) + 1)
        for leading in ((1, 1.5, 2, 3, 4, 5, 7), (1, 2, 3, 5), (1, 2, 5), (1,)):
            found = [digit * 10.0 ** power for power in powers for digit in leading
                     if self.lowest <= digit * 10.0 ** power <= self.highest]
            if len(found) <= 8:
                break
        return found


def text(x, y, content, anchor="start", more=""):
    return f'<text x="{number(x)}" y="{number(y)}" text-anchor="{anchor}"{more}>{escape(content)}</text>'


def line(x1, y1, x2, y2, colour):
    return f'<path d="M{number(x1)},{number(y1)} L{number(x2)},{number(y2)}" stroke="{colour}" fill="none"/>'


def overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def place_label(x, y, label, taken, right_edge):
    """Where a label stands beside its point: (x, y, anchor). The first place where it is in nobody's way, or else the first of all.
    The boxes (left, top, right, bottom) in `taken` are in the way; the label's own is added."""
    width = len(label) * LETTER_WIDTH
    places = [(x + 8, y + 4, "start"), (x - 8, y + 4, "end"), (x, y - 8, "middle"), (x, y + 17, "middle")]
    for down in (-8, 16, -22, 30, -36, 44):
        places += [(x + side * away, y + down, anchor) for away in (6, 30) for side, anchor in ((1, "start"), (-1, "end"))]

    def box(place):
        left = place[0] - width * {"start": 0, "middle": 0.5, "end": 1}[place[2]]
        return left, place[1] - FONT_SIZE, left + width, place[1] + 2

    def is_free(place):
        return LEFT < box(place)[0] and box(place)[2] < right_edge and not any(overlap(box(place), other) for other in taken)

    chosen = next(filter(is_free, places), places[0])
    taken.append(box(chosen))
    return chosen


def axes(horizontal, vertical, title):
    right, bottom = PANEL_WIDTH - RIGHT, PANEL_HEIGHT - BOTTOM
    yield text((LEFT + right) / 2, TOP - 14, title, "middle", ' font-weight="bold"')
    for tick in horizontal.ticks():
        yield line(horizontal(tick), TOP, horizontal(tick), bottom, GRID)
        yield text(horizontal(tick), bottom + 16, f"{tick:,g}", "middle")
    for tick in vertical.ticks():
        yield line(LEFT, vertical(tick), right, vertical(tick), GRID)
        yield text(LEFT - 6, vertical(tick) + 4, f"{tick:,g}", "end")
    yield (f'<rect x="{LEFT}" y="{TOP}" width="{right - LEFT}" height="{bottom - TOP}" stroke="{INK}" fill="none"/>')
    yield text((LEFT + right) / 2, bottom + 36, "MB stored", "middle")
    middle = (TOP + bottom) / 2
    yield text(14, middle, "MB/s, median of the versions", "middle", f' transform="rotate(-90 14 {number(middle)})"')


def colour_of(row):
    return ACCENT if row.key.startswith("dedupfs") else OTHER


def panel(title, rows):
    """The elements of one panel, whose corner is at 0, 0. Rows without figures have no point."""
    rows = [row for row in rows if row.figures]
    if not rows:
        return [text(PANEL_WIDTH / 2, PANEL_HEIGHT / 2, f"{title}: no figures", "middle")]
    stored = [size for row in rows for size in (row.figures.stored_mb, row.figures.settled_mb) if size]
    horizontal = Scale(stored, LEFT, PANEL_WIDTH - RIGHT)
    vertical = Scale([row.figures.speed.median for row in rows], PANEL_HEIGHT - BOTTOM, TOP)
    elements = list(axes(horizontal, vertical, title))
    points = [(horizontal(row.figures.stored_mb), vertical(row.figures.speed.median), row) for row in rows]
    rings = {row.key: horizontal(row.figures.settled_mb) for row in rows if row.figures.settled_mb}
    taken = [(min(x, rings.get(row.key, x)) - 5, y - 5, max(x, rings.get(row.key, x)) + 5, y + 5) for x, y, row in points]
    for x, y, row in points:
        if row.key in rings:
            elements.append(line(rings[row.key], y, x, y, colour_of(row)))
            elements.append(f'<circle cx="{number(rings[row.key])}" cy="{number(y)}" r="4.5" stroke="{colour_of(row)}" fill="#ffffff"/>')
        elements.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="4.5" fill="{colour_of(row)}"/>')
    for x, y, row in sorted(points, key=lambda point: -point[0]):  # on the right there is the least room
        label_x, label_y, anchor = place_label(x, y, row.key, taken, PANEL_WIDTH - RIGHT)
        if not y - FONT_SIZE < label_y < y + 1.5 * FONT_SIZE:  # so far away that it might be another's
            elements.append(line(x, y, label_x, label_y - (FONT_SIZE if label_y > y else 0), colour_of(row)))
        elements.append(text(label_x, label_y, row.key, anchor, f' fill="{colour_of(row)}"'))
    return elements


def svg(records):
    """The text of the file."""
    panels = [panel(name, figures.rows(of_one)) for name, of_one in figures.by_set(records).items()]
    width, height = max(1, len(panels)) * PANEL_WIDTH, PANEL_HEIGHT
    lines = [f'<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" font-family="Helvetica,Arial,sans-serif" '
             f'font-size="{FONT_SIZE}" fill="{INK}">',
             "<title>Megabytes stored and megabytes a second of each tool</title>",
             f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    for place, elements in enumerate(panels):
        lines += [f'<g transform="translate({place * PANEL_WIDTH} 0)">', *elements, "</g>"]
    return "\n".join([*lines, "</svg>"]) + "\n"
