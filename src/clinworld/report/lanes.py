"""The strips below a patient's weight curve: faults, doses, the clue to the driver, notes and laboratory reports."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from clinworld.access.record_text import LABELS as RECORD_LABELS
from clinworld.access.record_text import render_unit
from clinworld.core.text import Language, load_labels
from clinworld.knowledge.load import Knowledge
from clinworld.report.wording import say, say_fault, say_name, text_width
from clinworld.schema.record import ChartFault, NoteOrigin, Record, Series

ROW_HEIGHT, CLUE_HEIGHT, CLUE_HEAD, NOTES_HEIGHT = 16, 28, 13, 18
LEAST_BAR = 4.0
TEXT_PAD = 6.0
GAP_STEPS = 4  # a longer stretch without a reading breaks the line
NOTE_SOURCES = ("real", "look_alike", "distractor", "benign", "life")  # drawn in this order, the telling ones last


@dataclass(frozen=True, slots=True)
class Frame:
    """Where days and kilograms fall. `low` and `high` are kg at `bottom` and `top`."""

    left: float
    right: float
    top: float
    bottom: float
    last_day: int
    low: float
    high: float
    index_day: int
    language: Language

    def x(self, day: float) -> float:
        """The x of a day."""
        return round(self.left + (self.right - self.left) * day / max(1, self.last_day), 1)

    def y(self, kg: float) -> float:
        """The y of a weight."""
        return round(self.top + (self.bottom - self.top) * (self.high - kg) / max(1e-9, self.high - self.low), 1)


@dataclass(frozen=True, slots=True)
class Mark:
    """A point on the picture; `label` is what hovering says, `kind` its style."""

    x: float
    y: float
    kind: str
    label: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of days; `text` is written at `text_x`, "" when there is no room."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    label: str
    text: str
    text_x: float


@dataclass(frozen=True, slots=True)
class Lane:
    """One strip: its name, its box, and what is drawn in it. `line` and `dots` are SVG paths."""

    name: str
    kind: str
    y: float
    height: float
    bars: tuple[Bar, ...] = ()
    marks: tuple[Mark, ...] = ()
    line: str = ""
    dots: str = ""
    note: str = ""

    @property
    def bottom(self) -> float:
        """The y of its lower edge."""
        return self.y + self.height

    def moved_to(self, y: float) -> "Lane":
        """The same strip, `y` from the top; a line keeps its place within the strip, which the template moves."""
        shift = y - self.y
        bars = tuple(replace(bar, y=bar.y + shift) for bar in self.bars)
        marks = tuple(replace(mark, y=mark.y + shift) for mark in self.marks)
        return replace(self, y=y, bars=bars, marks=marks)


class _Rows:
    """Rows of a strip, filled from the top: what would overlap goes one row further down."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.ends: list[float] = []

    def place(self, x: float, width: float, text: str, *, may_stand_within: bool = True) -> tuple[int, float, bool]:
        """(row, x of the text, whether it stands within the stretch) of a stretch with a text in it, after it or before it.

        A text that has room nowhere stands over the stretch.
        """
        needs = text_width(text) + TEXT_PAD
        fits = may_stand_within and needs + TEXT_PAD <= width
        text_x = x + TEXT_PAD if fits else x + width + TEXT_PAD
        if not fits and x + width + needs > self.frame.right:
            text_x = x - needs if may_stand_within or x - needs > self.frame.left else x + TEXT_PAD
        start, end = min(x, text_x), max(x + width, text_x + needs)
        row = next((n for n, taken in enumerate(self.ends) if taken + TEXT_PAD <= start), len(self.ends))
        self.ends[row:] = [end, *self.ends[row + 1 :]]
        return row, round(text_x, 1), fits


def draw_faults(faults: Sequence[ChartFault], knowledge: Knowledge, frame: Frame, y: float) -> Lane | None:
    """Where the measurements mislead, one bar a fault; None when nothing does."""
    bars: list[Bar] = []
    rows = _Rows(frame)
    for fault in sorted((fault for fault in faults if fault.days), key=lambda fault: (min(fault.days), fault.kind)):
        first, last = min(fault.days), max(fault.days)
        text = say_fault(knowledge, fault.kind, frame.language)
        x, width = frame.x(first), max(LEAST_BAR, round(frame.x(last) - frame.x(first), 1))
        row, text_x, fits = rows.place(x, width, text)
        label = say("mark:fault_span", frame.language, name=text, first=first, last=last)
        bars.append(Bar(x, y + row * ROW_HEIGHT, width, ROW_HEIGHT - 4, "inside" if fits else "outside", label, text, text_x))
    return Lane(say("lane:faults", frame.language), "faults", y, ROW_HEIGHT * len(rows.ends), tuple(bars)) if bars else None


def draw_laboratory_faults(faults: Sequence[ChartFault], knowledge: Knowledge, frame: Frame, y: float) -> Lane | None:
    """What befell specimens and methods: a row a kind or less, a bar for each day with a result it moved; None when nothing did."""
    bars: list[Bar] = []
    rows = _Rows(frame)
    kinds = sorted({fault.kind for fault in faults if fault.days}, key=lambda kind: (min(_moved(faults, kind)), kind))
    for kind in kinds:
        moved, text = _moved(faults, kind), say_fault(knowledge, kind, frame.language)
        left, right = max(frame.left, frame.x(min(moved)) - LEAST_BAR / 2), frame.x(max(moved)) + LEAST_BAR / 2
        row, text_x, _ = rows.place(left, right - left, text, may_stand_within=False)
        for day in sorted(moved):
            names = say("joiner", frame.language).join(say_name(knowledge, "analytes", name, frame.language) for name in moved[day])
            label = say("mark:lab_fault", frame.language, day=day, name=text, results=names)
            x, said = max(frame.left, round(frame.x(day) - LEAST_BAR / 2, 1)), text if day == max(moved) else ""
            bars.append(Bar(x, y + row * ROW_HEIGHT, LEAST_BAR, ROW_HEIGHT - 4, "lab", label, said, text_x))
    return Lane(say("lane:lab_faults", frame.language), "lab_faults", y, ROW_HEIGHT * len(rows.ends), tuple(bars)) if bars else None


def _moved(faults: Sequence[ChartFault], kind: str) -> dict[int, list[str]]:
    """Day → the results that a kind of fault moved on it."""
    moved: dict[int, list[str]] = {}
    for fault in faults:
        for day in fault.days if fault.kind == kind else ():
            moved.setdefault(day, []).append(fault.series)
    return moved


def draw_doses(doses: Sequence[tuple[int, str, str]], frame: Frame, y: float) -> Lane | None:
    """The dose in force, one bar a step; each step is (day, full text, short text). None when nothing is prescribed."""
    bars = []
    for step, (day, label, short) in enumerate(doses):
        end = doses[step + 1][0] if step + 1 < len(doses) else frame.last_day
        x, width = frame.x(day), round(frame.x(end) - frame.x(day), 1)
        text = next((words for words in (short, short.split(" ")[0]) if text_width(words) + 2 * TEXT_PAD <= width), "")
        bars.append(Bar(x, y, max(1.0, width - 1), ROW_HEIGHT - 2, f"step{min(step, 4)}", label, text, round(x + TEXT_PAD / 2, 1)))
    return Lane(say("lane:dose", frame.language), "doses", y, ROW_HEIGHT, tuple(bars)) if bars else None


def draw_clue(chart: Record, driver: str, knowledge: Knowledge, frame: Frame, y: float) -> Lane | None:
    """The stream in which the driver shows, as a small line; None where the driver shows in none that was charted."""
    row = knowledge.drivers.get(driver)
    shown_in = (row.evidence, *row.observed_in) if row else ()
    series = next((found for name in shown_in if (found := chart.find(name)) is not None and len(found.ticks) > 1), None)
    if series is None:
        return None
    name = say_name(knowledge, "streams", series.name, frame.language)
    values = series.values()
    low, high = float(values.min()), float(values.max())
    unit = render_unit(series.unit, frame.language, load_labels(RECORD_LABELS))
    note = f"{name}, {low:.{series.decimals}f}\u2013{high:.{series.decimals}f} {unit}"
    line, dots = _line(series, frame, low, high)
    return Lane(say("lane:clue", frame.language), "clue", y, CLUE_HEIGHT + CLUE_HEAD, line=line, dots=dots, note=note)


def _line(series: Series, frame: Frame, low: float, high: float) -> tuple[str, str]:
    """Paths of a line and of its dots within a strip, below its heading, from y = 0 on. A gap of several usual steps breaks the line."""
    parts: list[str] = []
    dots: list[str] = []
    days = series.days.tolist()
    longest = GAP_STEPS * sorted(after - before for before, after in pairwise(days))[len(days) // 2 - 1]
    former: int | None = None
    for day, value in zip(days, series.values().tolist(), strict=True):
        y = round(CLUE_HEIGHT * (high - value) / max(1e-9, high - low), 1)
        parts.append(f"{'M' if former is None or day - former > longest else 'L'}{frame.x(day):g} {y:g}")
        dots.append(f"M{frame.x(day):g} {y:g}h0")
        former = day
    return "".join(parts), "".join(dots)


def draw_notes(chart: Record, origins: Sequence[NoteOrigin], frame: Frame, y: float, *, panel: bool) -> Lane | None:
    """What the patient told, by what it really is; or, with `panel`, the laboratory reports. None when there are none."""
    kinds = {origin.note_id: origin.kind for origin in origins}
    order = {kind: place for place, kind in enumerate(reversed(NOTE_SOURCES))}
    marks = []
    for note in chart.notes:
        kind = kinds.get(note.note_id, "benign")
        if (kind == "panel") == panel:
            label = say("mark:note", frame.language, day=note.day, kind=say(f"origin:{kind}", frame.language))
            text = note.text.say(frame.language)
            late = " hidden" if note.day > frame.index_day else ""
            marks.append(Mark(frame.x(note.day), y + NOTES_HEIGHT / 2, kind + late, label + text))
    if not marks:
        return None
    marks.sort(key=lambda mark: (order.get(mark.kind.split(" ")[0], -1), mark.x, mark.label))
    name = say("lane:labs" if panel else "lane:notes", frame.language)
    return Lane(name, "notes", y, NOTES_HEIGHT, marks=tuple(marks))
