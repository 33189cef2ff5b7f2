"""A drawing of scripts/bench-peers: MB/s against MB stored, a panel for each data set, a point for each tool. Both scales are
logarithmic. A ring, joined to its point, is the same tool after its volume was settled. The drawing is SVG, written by hand."""
import math
from xml.sax.saxutils import escape

from . import figures

PANEL_WIDTH, PANEL_HEIGHT = 360, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 36, 48  # of the frame, in a panel
FONT_SIZE = 12
LETTER_WIDTH = 6.6  # about what a letter takes
INK, GRID, ACCENT, OTHER = "#202020", "#e4e4e4", "#c03028", "#3060a0"
MARGIN = 1.25  # of the scale beyond the outermost points, as a factor


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
        """1, 2 and 5 times powers of ten; powers alone where that would be many."""
        powers = range(math.floor(math.log10(self.lowest)), math.ceil(math.log10(self.highest)) + 1)
        for leading in ((1, 2, 5), (1,)):
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
    places = []
    for down in (4, -8, 16, -20, 28, -32, 40):
        places += [(x + 8, y + down, "start"), (x - 8, y + down, "end")]

    def box(place):
        left = place[0] - (width if place[2] == "end" else 0)
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
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y, _ in points]
    for x, y, row in points:
        colour = ACCENT if row.key.startswith("dedupfs") else OTHER
        if row.figures.settled_mb:
            settled_x = horizontal(row.figures.settled_mb)
            elements.append(line(settled_x, y, x, y, colour))
            elements.append(f'<circle cx="{number(settled_x)}" cy="{number(y)}" r="4.5" stroke="{colour}" fill="#ffffff"/>')
        elements.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="4.5" fill="{colour}"/>')
        label_x, label_y, anchor = place_label(x, y, row.key, taken, PANEL_WIDTH - RIGHT)
        elements.append(text(label_x, label_y, row.key, anchor, f' fill="{colour}"'))
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
