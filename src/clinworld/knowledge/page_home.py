"""The reference pages of what is measured day by day, and of the everyday events that patients tell."""

from clinworld.knowledge.markdown import escape
from clinworld.knowledge.page_movers import tell_movers, tell_protocols
from clinworld.knowledge.page_text import Book, Page, begin_page, change_per_kg, code, diagnostic_limit, other_name
from clinworld.knowledge.rows import BenignEvent, Stream


def render_stream(book: Book, row: Stream) -> str:
    """Everything the row of a daily or home measurement says, and what tests, diseases, drugs and events have to do with it."""
    page = begin_page(book, "streams", row.id, row.names)
    _tell_itself(page, row)
    page.bullets(
        "section.measured_by", (book.link("tests", name) for name, test in book.knowledge.tests.items() if row.id in test.measures)
    )
    page.bullets("section.followed_in", (book.link("conditions", each.id) for each in book.conditions if row.id in each.signals))
    tell_movers(page, row.id)
    tell_protocols(page, row.id)
    return page.text()


def _tell_itself(page: Page, row: Stream) -> None:
    book = page.book
    page.facts(
        (
            ("id", code(row.id)),
            ("other_name", other_name(book, row.names)),
            ("aliases", escape(book.listed(row.aliases))),
            ("loinc", escape(row.loinc)),
            ("unit", code(row.ucum)),
            ("decimals", str(row.decimals)),
            ("setting", book.word("setting", row.setting)),
            ("devices", escape(book.listed(book.name("devices", name) for name in row.devices))),
            ("clinician_reads", book.word("flag", str(row.clinician_reads).lower())),
            ("mean_m", book.measure(row.mean_m, row.ucum)),
            ("mean_f", book.measure(row.mean_f, row.ucum)),
            ("parent", book.link("streams", row.parent) if row.parent else ""),
            ("derived_by", code(row.derived_by) if row.derived_by else ""),
            ("intercept_m", book.measure(row.intercept_m, row.ucum)),
            ("intercept_f", book.measure(row.intercept_f, row.ucum)),
            ("slope", book.measure(row.slope, "")),
            ("diagnostic", diagnostic_limit(book, row)),
            *_tell_variation(book, row),
            ("hard", book.range(row.hard_low, row.hard_high, row.ucum)),
            ("per_kg", change_per_kg(book, row)),
            ("half_time", book.measure(row.half_time_days, "d")),
            ("source", page.cite(row)),
        )
    )


def _tell_variation(book: Book, row: Stream) -> tuple[tuple[str, str], ...]:
    """How it differs between people and days, on its scale, and how often it is there."""
    sizes = ("per_year_over_40", "per_bmi_over_25", "sd_between", "sd_within", "saturday", "sunday", "monday")
    on_scale = ((name, getattr(row, name)) for name in sizes)
    missing = {name: book.share(value, value) for name, value in (("worn", row.p_off_worn), ("off", row.p_off_off))}
    return (
        *((name, _on_scale(book, row, value)) for name, value in on_scale if value),
        ("lag1", book.measure(row.lag1, "")),
        ("p_present", book.share(row.p_present, row.p_present)),
        ("missing", book.say("page.missing", **missing)),
    )


def _on_scale(book: Book, row: Stream, value: float) -> str:
    return book.say("page.ln", value=f"{value:.10g}") if row.scale == "log" else book.measure(value, row.ucum)


def render_event(book: Book, row: BenignEvent) -> str:
    """Everything the row of an everyday event says, and what it moves."""
    page = begin_page(book, "events", row.id, row.text)
    page.facts(
        (
            ("id", code(row.id)),
            ("other_name", other_name(book, row.text)),
            ("kind", book.word("event_kind", row.kind)),
            ("topic", code(row.topic)),
            ("context", escape(row.context.say(book.language)) if row.context else ""),
            ("sex", book.word("sex", row.sex) if row.sex else ""),
            ("ages", book.ages(row.age_low, row.age_high)),
            ("is_exertional", book.word("flag", str(row.is_exertional).lower())),
            ("axis", book.word("axis", row.axis) if row.axis else ""),
            ("months", f"{row.first_month}–{row.last_month}" if row.first_month else ""),
            ("weight", book.measure(row.weight, "")),
            ("shadows", book.listed(_shadow(book, name) for name in row.shadows)),
            ("source", page.cite(row)),
        )
    )
    page.table(
        "section.moves_items",
        ("item", "change", "lasts", "at_most", "source"),
        (
            (
                book.item(each.item),
                book.measure(each.peak, "%" if each.unit == "%" else book.unit_of(each.item), is_signed=True),
                book.measure(each.lasts_days, "d"),
                book.measure(each.cap, "%" if each.unit == "%" else book.unit_of(each.item)),
                page.cite(each),
            )
            for each in book.knowledge.event_effects.values()
            if each.event == row.id
        ),
    )
    return page.text()


def _shadow(book: Book, name: str) -> str:
    kind = "conditions" if name in book.knowledge.conditions else "drivers"
    return book.link(kind, name)
