"""The reference pages of an analyte and of a test."""

from clinworld.knowledge.page_text import Book, Page, begin_page, code, escape, other_name, plain_unit
from clinworld.knowledge.rows import Analyte, FindingKind, OrderableTest


def render_analyte(book: Book, row: Analyte) -> str:
    """Everything the row of an analyte says, and what tests, diseases, drugs and laboratory factors have to do with it."""
    page = begin_page(book, "analytes", row.id, row.names)
    _tell_analyte(page, row)
    knowledge = book.knowledge
    page.bullets("section.measured_by", (book.link("tests", name) for name, test in knowledge.tests.items() if row.id in test.measures))
    page.table(
        "section.conditions",
        ("condition", "moves", "size", "role", "source"),
        (
            (
                book.link("conditions", condition.id),
                book.word("shown", each.moves),
                book.word("size", each.size) if each.size != "none" else "",
                book.word("role", each.role),
                page.cite(each),
            )
            for condition in book.conditions
            for each in condition.findings
            if each.item == row.id
        ),
    )
    page.table(
        "section.drugs_moving",
        ("drug", "dose", "mean_change", "population", "source"),
        (
            (
                book.link("drugs", drug.id),
                book.measure(each.dose, drug.dose_unit) if each.dose is not None else book.say("page.usual_dose"),
                book.measure(each.mean, each.unit, is_signed=True),
                book.word("population", each.population),
                page.cite(each),
            )
            for drug in book.drugs
            for each in drug.effects
            if each.item == row.id
        ),
    )
    page.table(
        "section.factors",
        ("factor", "moves", "change", "recognise", "response", "source"),
        (
            (
                book.name("factors", each.factor),
                book.word("shown", each.moves),
                book.range(each.low, each.high, each.unit),
                escape(knowledge.factors[each.factor].recognise.say(book.language)),
                escape(knowledge.factors[each.factor].response.say(book.language)),
                page.cite(each),
            )
            for each in knowledge.factor_effects.values()
            if each.item == row.id
        ),
    )
    about = (protocol.id for protocol in book.protocols if row.id in protocol.subject.items)
    page.bullets("section.protocols", (book.link("protocols", name) for name in about))
    return page.text()


def _tell_analyte(page: Page, row: Analyte) -> None:
    book = page.book
    per_kg = book.with_unit(f"{row.per_kg:+.10g}", row.ucum) if row.per_kg is not None else ""
    diagnostic = ""
    if row.diagnostic_high is not None:
        limit = book.say("limit.at_least", value=book.measure(row.diagnostic_high, row.ucum))
        diagnostic = book.listed((limit, book.link("conditions", row.diagnostic_of)))
    page.facts(
        (
            ("id", code(row.id)),
            ("other_name", other_name(book, row.names)),
            ("aliases", escape(book.listed(row.aliases))),
            ("loinc", row.loinc),
            ("unit", escape(plain_unit(row.ucum))),
            ("decimals", str(row.decimals)),
            ("group", book.word("group", row.group)),
            ("device", book.name("devices", row.device)),
            ("reference_m", book.range(row.ref_low_m, row.ref_high_m, row.ucum)),
            ("reference_f", book.range(row.ref_low_f, row.ref_high_f, row.ucum)),
            ("diagnostic", diagnostic),
            ("cv_analytic", book.measure(row.cv_analytic_pct, "%")),
            ("cv_within", book.measure(row.cv_within_pct, "%")),
            ("cv_between", book.measure(row.cv_between_pct, "%")),
            ("hard", book.range(row.hard_low, row.hard_high, row.ucum)),
            ("per_kg", per_kg),
            ("half_time", book.measure(row.half_time_days, "d")),
            ("derived_by", code(row.derived_by) if row.derived_by else ""),
            ("source", page.cite(row)),
        )
    )


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
            ("tier", book.say("page.price", name=tier.names.say(book.language), price=f"{tier.price:g}", source=page.cite(tier))),
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
        (book.link("conditions", condition.id), book.word("role", role))
        for condition in book.conditions
        for role in ("first_line", "confirmatory")
        if row.id in getattr(condition.tests, role)
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
