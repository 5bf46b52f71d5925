"""The reference page of a drug."""

from clinworld.knowledge.markdown import escape
from clinworld.knowledge.page_text import Book, Page, begin_page, code, other_name
from clinworld.knowledge.protocol_text import INDENT, render_predicate
from clinworld.knowledge.rows import AdverseEffect, Contraindication, Drug, Interaction, Monitoring
from clinworld.knowledge.rule_rows import AllOf, AnyOf, Not, Predicate, Protocol, Subject
from clinworld.knowledge.rules import facts_of, holds

DAYS_ON_DRUG = "days_on_drug"  # the fact that tells the first day of a treatment


def render_drug(book: Book, row: Drug) -> str:
    """Everything the file of a drug says, with the protocols that are about it."""
    page = begin_page(book, "drugs", row.id, row.names)
    _tell_itself(page, row)
    _tell_use(page, row)
    page.bullets("section.monitoring", (_monitoring(page, row, each) for each in row.monitoring))
    page.table(
        "section.adverse_effects",
        ("harm", "share", "onset", "source"),
        (
            (
                _harm(book, each),
                book.share(each.share_low, each.share_high),
                book.range(each.onset_low_days, each.onset_high_days, "d"),
                page.cite(each),
            )
            for each in row.adverse_effects
        ),
    )
    page.table(
        "section.contraindications",
        ("where", "kind", "source"),
        ((_contraindicated(book, each), book.word("contraindication", each.kind), page.cite(each)) for each in row.contraindications),
    )
    page.table(
        "section.interactions",
        ("with", "effect", "kind", "source"),
        (
            (_partner(book, each), escape(each.effect.say(book.language)), book.word("interaction", each.kind), page.cite(each))
            for each in row.interactions
        ),
    )
    about = (each.id for each in book.protocols if row.id in each.subject.drugs or each.subject.is_all == "drugs")
    page.bullets("section.protocols", (book.link("protocols", name) for name in about))
    return page.text()


def _tell_itself(page: Page, row: Drug) -> None:
    book = page.book
    page.facts(
        (
            ("id", code(row.id)),
            ("other_name", other_name(book, row.names)),
            ("aliases", escape(book.listed(row.aliases))),
            ("rxcui", escape(row.rxcui)),
            ("drug_class", book.word("class", row.drug_class)),
            ("route", book.word("route", row.route)),
            ("frequency", book.word("frequency", row.frequency)),
            ("authority", book.word("authority", row.authority)),
            ("ladder", book.listed(book.measure(step, row.dose_unit) for step in row.ladder)),
            ("most_a_day", book.measure(row.most_a_day, row.dose_unit)),
            ("min_titration", _waiting(book, row)),
            ("onset", book.measure(row.onset_days, "d")),
            ("steady", book.measure(row.steady_weeks, "wk")),
            ("clinical_review", book.word("review", row.clinical_review)),
            ("source", page.cite(row)),
        )
    )


def _waiting(book: Book, row: Drug) -> str:
    """How long a step is kept: days, no least time, or nothing to wait for."""
    if row.min_titration_days:
        return book.measure(row.min_titration_days, "d")
    return book.say("page.one_step" if len(row.ladder) == 1 else "page.no_waiting")


def _tell_use(page: Page, row: Drug) -> None:
    book = page.book
    page.table(
        "section.indications",
        ("condition", "top_dose", "licence"),
        (
            (book.link("conditions", name), book.measure(top, row.dose_unit), book.say("page.off_label") if name in row.off_label else "")
            for name, top in row.indications
        ),
    )
    page.table(
        "section.effects",
        ("item", "dose", "mean_change", "sd", "population", "half_time", "source"),
        (
            (
                book.item(each.item),
                book.measure(each.dose, row.dose_unit) if each.dose is not None else book.say("page.usual_dose"),
                book.measure(each.mean, each.unit, is_signed=True),
                book.measure(each.sd, each.unit),
                book.word("population", each.population),
                book.measure(each.half_time_days, "d"),
                page.cite(each),
            )
            for each in row.effects
        ),
    )


def _monitoring(page: Page, row: Drug, each: Monitoring) -> str:
    book, is_at_start, when = page.book, *_take_start(each.when)
    every = book.measure(each.every_days, "d")
    label = "page.monitor_at_start" if is_at_start else "page.monitor_daily" if each.every_days == 1 else "page.monitor"
    told = book.say(label, item=book.item(each.item), every=every, source=page.cite(each))
    if when is None:
        return told
    about = Protocol("", "titration", row.names, row.clinical_review, Subject(drugs=(row.id,)), (), None, (), row.source, row.status)
    lines = render_predicate(when, about, book.knowledge, book.language).splitlines()
    return "\n".join([book.say("page.only_while", text=told), *(INDENT + line for line in lines)])


def _take_start(when: Predicate | None) -> tuple[bool, Predicate | None]:
    """Whether something is looked at on the day of the first dose and on no other, and what else must hold then."""
    parts = when.parts if isinstance(when, AllOf) else (when,) if when is not None else ()
    other = tuple(part for part in parts if not _is_first_day(part))
    if len(other) == len(parts):
        return False, when
    return True, AllOf(other) if len(other) > 1 else next(iter(other), None)


def _is_first_day(part: Predicate) -> bool:
    is_about_days = not isinstance(part, AllOf | AnyOf | Not) and facts_of(part) == (DAYS_ON_DRUG,)
    return is_about_days and holds(part, {DAYS_ON_DRUG: 0}) is True and holds(part, {DAYS_ON_DRUG: 1}) is False


def _harm(book: Book, each: AdverseEffect) -> str:
    if each.symptom:
        return escape(book.name("symptoms", each.symptom))
    return book.say("page.item_moves", item=book.item(each.item), moves=book.word("shown", each.moves))


def _contraindicated(book: Book, each: Contraindication) -> str:
    if each.condition:
        return book.link("conditions", each.condition)
    if each.state:
        return escape(book.knowledge.rule_facts[each.state].phrases[0].say(book.language))
    return book.say("page.item_limit", item=book.item(each.item), limit=book.limit(each, book.unit_of(each.item)))


def _partner(book: Book, each: Interaction) -> str:
    if each.drug:
        return book.link("drugs", each.drug)
    if each.drug_class:
        return book.say("page.every_of_class", name=book.word("class", each.drug_class))
    return escape(each.substance.say(book.language)) if each.substance else ""
