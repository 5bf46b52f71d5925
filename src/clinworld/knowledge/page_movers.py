"""What a page says of anything measured: the diseases, drugs, laboratory factors and events that move it, its alarms and protocols."""

from clinworld.knowledge.alarm_limits import ALARM, find_alarm_limits, find_alarms
from clinworld.knowledge.markdown import escape
from clinworld.knowledge.page_text import Page


def tell_movers(page: Page, item: str) -> None:
    """The diseases, drugs, laboratory factors and everyday events that move an item."""
    _tell_conditions_and_drugs(page, item)
    _tell_factors_and_events(page, item)


def _tell_conditions_and_drugs(page: Page, item: str) -> None:
    book = page.book
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
            if each.item == item
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
            if each.item == item
        ),
    )


def _tell_factors_and_events(page: Page, item: str) -> None:
    book, knowledge = page.book, page.book.knowledge
    page.table(
        "section.factors",
        ("factor", "moves", "change", "recognise", "response", "source"),
        (
            (
                escape(book.name("factors", each.factor)),
                book.word("shown", each.moves),
                book.range(each.low, each.high, each.unit),
                escape(knowledge.factors[each.factor].recognise.say(book.language)),
                escape(knowledge.factors[each.factor].response.say(book.language)),
                page.cite(each),
            )
            for each in knowledge.factor_effects.values()
            if each.item == item
        ),
    )
    page.table(
        "section.events_moving",
        ("event", "change", "lasts", "at_most", "source"),
        (
            (
                book.link("events", each.event),
                book.measure(each.peak, "%" if each.unit == "%" else book.unit_of(item), is_signed=True),
                book.measure(each.lasts_days, "d"),
                book.measure(each.cap, "%" if each.unit == "%" else book.unit_of(item)),
                page.cite(each),
            )
            for each in knowledge.event_effects.values()
            if each.item == item
        ),
    )


def tell_protocols(page: Page, item: str) -> None:
    """The values that call for action by themselves, and every protocol about the item."""
    book = page.book
    unit = book.unit_of(item)
    page.table(
        "section.alarms",
        ("value", "action", "protocol", "source"),
        (
            (
                book.test(each.test, unit),
                book.rule_word(f"then.{ALARM}.{each.then}"),
                book.link("protocols", each.protocol),
                page.cite(each),
            )
            for each in find_alarm_limits(item, book.knowledge)
        ),
    )
    about = [each.id for each in book.protocols if item in each.subject.items or each.subject.is_all == "items"]
    names = sorted({*about, *find_alarms(item, book.knowledge)})
    page.bullets("section.protocols", (book.link("protocols", name) for name in names))
