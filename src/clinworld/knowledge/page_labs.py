"""The reference pages of an analyte and of a test."""

from clinworld.knowledge.markdown import escape
from clinworld.knowledge.page_movers import tell_movers, tell_protocols
from clinworld.knowledge.page_text import Book, Page, begin_page, change_per_kg, code, diagnostic_limit, other_name
from clinworld.knowledge.reference_change import RCV_DECIMALS, is_variation_known, reference_change_pct
from clinworld.knowledge.rows import Analyte, FindingKind, OrderableTest


def render_analyte(book: Book, row: Analyte) -> str:
    """Everything the row of an analyte says, and what tests, diseases, drugs and laboratory factors have to do with it."""
    page = begin_page(book, "analytes", row.id, row.names)
    _tell_analyte(page, row)
    knowledge = book.knowledge
    page.bullets("section.measured_by", (book.link("tests", name) for name, test in knowledge.tests.items() if row.id in test.measures))
    tell_movers(page, row.id)
    tell_protocols(page, row.id)
    return page.text()


def _tell_analyte(page: Page, row: Analyte) -> None:
    book = page.book
    page.facts(
        (
            ("id", code(row.id)),
            ("other_name", other_name(book, row.names)),
            ("aliases", escape(book.listed(row.aliases))),
            ("loinc", escape(row.loinc)),
            ("unit", code(row.ucum)),
            ("decimals", str(row.decimals)),
            ("group", book.word("group", row.group)),
            ("device", escape(book.name("devices", row.device))),
            ("reference_m", book.range(row.ref_low_m, row.ref_high_m, row.ucum)),
            ("reference_f", book.range(row.ref_low_f, row.ref_high_f, row.ucum)),
            ("diagnostic", diagnostic_limit(book, row)),
            ("cv_analytic", book.measure(row.cv_analytic_pct, "%")),
            ("cv_within", book.measure(row.cv_within_pct, "%")),
            ("reference_change", _reference_change(book, row)),
            ("cv_between", book.measure(row.cv_between_pct, "%")),
            ("hard", book.range(row.hard_low, row.hard_high, row.ucum)),
            ("per_kg", change_per_kg(book, row)),
            ("half_time", book.measure(row.half_time_days, "d")),
            ("derived_by", code(row.derived_by) if row.derived_by else ""),
            ("source", page.cite(row)),
        )
    )


def _reference_change(book: Book, row: Analyte) -> str:
    value = book.with_unit(f"{reference_change_pct(row, book.knowledge):.{RCV_DECIMALS}f}", "%")
    assumed = book.measure(book.knowledge.parameter("lab_cv_unknown_pct"), "%")
    return value if is_variation_known(row) else book.say("page.rcv_assumed", value=value, assumed=assumed)


def render_test(book: Book, row: OrderableTest) -> str:
    """Everything the row of a test says, what it measures, and the diseases it is ordered for."""
    page = begin_page(book, "tests", row.id, row.names)
    tier = book.knowledge.tiers[row.tier]
    turnaround = book.measure(row.turnaround_days, "d") if row.turnaround_days else book.say("page.same_visit")
    page.facts(
        (
            ("id", code(row.id)),
            ("other_name", other_name(book, row.names)),
            ("aliases", escape(book.listed(row.aliases))),
            ("tier", book.say("page.price", name=escape(tier.names.say(book.language)), price=f"{tier.price:g}", source=page.cite(tier))),
            ("availability", book.word("availability", row.availability)),
            ("turnaround", turnaround),
            ("specimen", book.word("specimen", row.specimen)),
            ("fasting", book.word("flag", str(row.is_fasting).lower())),
            ("alternatives", book.listed(book.link("tests", name) for name in row.alternatives)),
            ("source", page.cite(row)),
        )
    )
    page.table(
        "section.measures",
        ("item", "kind", "value", "source"),
        ((book.item(name), *_measured(book, name), page.cite(book.knowledge.items[name])) for name in row.measures),
    )
    ordered = (
        (book.link("conditions", condition.id), book.listed(book.word("role", role) for role in roles))
        for condition in book.conditions
        if (roles := condition.tests.roles(row.id))
    )
    page.table("section.ordered_for", ("condition", "role"), ordered)
    return page.text()


def _measured(book: Book, name: str) -> tuple[str, str]:
    """What kind of thing an item is, and its reference, cut or two results."""
    row = book.knowledge.items[name]
    if isinstance(row, Analyte):
        sexes = (book.range(row.ref_low_m, row.ref_high_m, row.ucum), book.range(row.ref_low_f, row.ref_high_f, row.ucum))
        if sexes[0] == sexes[1]:
            return book.say("kind.analyte"), sexes[0]
        return book.say("kind.analyte"), book.say("page.by_sex", male=sexes[0], female=sexes[1])
    if not isinstance(row, FindingKind):
        return book.say("kind.stream"), book.range(row.hard_low, row.hard_high, row.ucum)
    kind = book.word("kind", row.kind)
    if row.is_numeric:
        cut = book.say("page.positive_from", value=book.measure(row.cut, row.ucum)) if row.cut is not None else ""
        return kind, cut or book.range(row.ref_low, row.ref_high, row.ucum)
    results = (each.say(book.language) for each in (row.positive, row.negative) if each)
    return kind, book.listed(book.say("page.quoted", text=escape(result)) for result in results)
