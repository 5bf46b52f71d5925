"""The page: one HTML file that opens from disk, with no script, no request and nothing of the time it was made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from clinworld.core.canary import CANARY
from clinworld.core.text import Language
from clinworld.report.content import ReportContent
from clinworld.report.gate_table import sum_gates
from clinworld.report.plots import draw_dots, list_lines
from clinworld.report.timelines import Timeline
from clinworld.report.wording import Said, make_visible, report_labels, say, say_part, say_reason, shorten, text_width
from clinworld.schema.finding import Finding

TEMPLATES = Path(__file__).parent / "templates"
MOST_PROMPT, MOST_REPLY, MOST_WORD = 6000, 2500, 300
LONG_FACT_PX = 300.0  # a longer fact of a patient has a line of its own


@dataclass(slots=True)
class Footnotes:
    """Reasons of one table, numbered in the order they come up, so that they can be read without hovering."""

    said: list[str] = field(default_factory=list)

    def mark(self, reason: str) -> int:
        """The number of a reason."""
        if reason not in self.said:
            self.said.append(reason)
        return self.said.index(reason) + 1


def render_page(content: ReportContent) -> str:
    """The whole page. Equal content gives equal bytes."""
    environment = _environment(content.language)
    text = environment.get_template("page.html.j2").render(content=content, parts=content.parts, css=_css(), canary=CANARY)
    return _without_blank_lines(text)


def render_timeline(timeline: Timeline, language: Language, *, style: str) -> str:
    """One picture as an SVG file of its own, with `style` inside it."""
    return str(_environment(language).get_template("picture.svg.j2").render(t=timeline, style=Markup(style), canary=CANARY))


@lru_cache(maxsize=4)
def _environment(language: Language) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_inert,
        optimized=False,  # the optimiser costs more than it saves on a page made once
    )
    environment.globals.update(
        language=language,
        say=partial(_say, language),
        known=report_labels().__contains__,
        why=partial(_reason, language),
        tell=partial(_tell, language),
        footnotes=Footnotes,
        draw_dots=draw_dots,
        list_lines=list_lines,
        sum_gates=sum_gates,
        most_prompt=MOST_PROMPT,
        most_reply=MOST_REPLY,
    )
    filters: Mapping[str, Callable[..., Any]] = {
        "num": print_number,
        "interval": print_interval,
        "short": lambda text, most=MOST_WORD: shorten(str(text), most, language),
        "name": partial(_name, language),
        "is_long": lambda text: text_width(text) > LONG_FACT_PX,
    }
    environment.filters.update(filters)
    return environment


def _inert(value: Any) -> Any:
    """What goes to the page: text from anywhere loses characters that hide or reorder; our own markup stays."""
    return make_visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _say(language: Language, label: str, **values: object) -> str | Markup:
    """A label; what stands between backticks in it is set as code."""
    text = say(label, language, **values)
    if "`" not in report_labels().say(label, language):
        return text
    parts = [escape(make_visible(part)) for part in text.split("`")]
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


def _name(language: Language, name: str, kind: str) -> str:
    """A thing's name in the page's language, or its id where the table has none (an outside pack's gate, for example)."""
    label = f"{kind}:{name}"
    return say(label, language) if label in report_labels() else name


def _reason(language: Language, text: str, most: int = MOST_WORD) -> str | Markup:
    """A reason in the page's language; what is not in it is marked as English, for readers and for their machines."""
    return _mark(say_reason(shorten(text, most, language), language))


def _mark(said: Said) -> str | Markup:
    return said.text if said.is_native else Markup('<span lang="en">{}</span>').format(make_visible(said.text))


def _tell(language: Language, finding: Finding, most: int) -> Markup:
    """What a check found, as a paragraph: where, what, and what is allowed; a part that is not in the page's language is marked."""
    if language == "en":
        told = f"{finding.place}: {finding.found}" + (f"; {finding.allowed}" if finding.allowed else "")
        return Markup('<p class="raw">{}</p>').format(shorten(told, most, language))
    place, found, allowed = (
        _mark(say_part(shorten(each, most, language), language)) for each in (finding.place, finding.found, finding.allowed)
    )
    joiner = say("reason_joiner", language) if allowed else ""
    return Markup("<p>{}{}{}{}{}</p>").format(place, say("colon", language), found, joiner, allowed)


def print_number(value: float | None, decimals: int = 2) -> str:
    """A number with its decimals, and a minus sign only where something is left of it."""
    assert value is not None, "a value that was not measured is a word, never a number"
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text.replace("-", "\u2212")


def print_interval(value: tuple[float, float] | None, decimals: int = 2) -> str:
    """`[low, high]`, nothing where there is none."""
    return f"[{print_number(value[0], decimals)}, {print_number(value[1], decimals)}]" if value else ""


@lru_cache(maxsize=1)
def _css() -> Markup:
    return Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))


def _without_blank_lines(text: str) -> str:
    # Only between tags: what stands in <pre> was delivered or replied and keeps its lines.
    out: list[str] = []
    inside = False
    for line in text.split("\n"):
        if inside or line.strip():
            out.append(line if inside else line.strip() if "<pre" not in line else line.lstrip())
        inside = (inside or "<pre" in line) and "</pre>" not in line
    return "\n".join(out) + "\n"
