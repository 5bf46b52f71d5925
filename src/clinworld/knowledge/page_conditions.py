"""The reference page of a disease."""

from clinworld.knowledge.markdown import escape
from clinworld.knowledge.page_text import Book, Page, begin_page, code, other_name
from clinworld.knowledge.rows import Condition, RedFlag, ToldApart


def render_condition(book: Book, row: Condition) -> str:
    """Everything the file of a disease says, with what other rows say of it."""
    page = begin_page(book, "conditions", row.id, row.names)
    if row.is_name_only:
        page.paragraph(book.say("page.name_only"))
    _tell_itself(page, row)
    _tell_who(page, row)
    _tell_symptoms(page, row)
    _tell_findings(page, row)
    _tell_look_alikes(page, row)
    ordered = ((book.link("tests", name), book.listed(book.word("role", role) for role in row.tests.roles(name))) for name in row.tests.all)
    page.table("section.tests", ("test", "role"), ordered)
    page.bullets("section.red_flags", (_red_flag(book, flag) for flag in row.red_flags))
    page.bullets("section.traps", (escape(trap.say(book.language)) for trap in row.traps))
    _tell_company(page, row)
    return page.text()


def _tell_itself(page: Page, row: Condition) -> None:
    book = page.book
    page.facts(
        (
            ("id", code(row.id)),
            ("other_name", other_name(book, row.names)),
            ("aliases", escape(book.listed(row.aliases))),
            ("icd10cm", escape(row.icd10cm)),
            ("shares_code_with", book.listed(book.link("conditions", name) for name in row.shares_code_with)),
            ("specialty", escape(book.name("specialties", row.specialty)) if row.specialty else ""),
            ("urgency", book.word("urgency", row.urgency) if row.urgency else ""),
            ("sex", book.word("sex", row.sex) if row.sex else ""),
            ("ages", book.ages(row.age_low, row.age_high)),
            ("signals", book.listed(book.item(name) for name in row.signals)),
            ("clinical_review", book.word("review", row.clinical_review)),
            ("source", page.cite(row)),
        )
    )


def _tell_who(page: Page, row: Condition) -> None:
    book = page.book
    page.table(
        "section.prevalence",
        ("sex", "ages", "share", "source"),
        (
            (
                book.word("sex", each.sex or "both"),
                book.ages(each.age_low, each.age_high),
                book.share(each.share, each.share),
                page.cite(each),
            )
            for each in row.prevalence
        ),
    )


def _tell_symptoms(page: Page, row: Condition) -> None:
    book = page.book
    symptoms = book.knowledge.symptoms
    page.table(
        "section.symptoms",
        ("symptom", "role", "who", "wordings", "source"),
        (
            (
                book.symptom(each.symptom),
                book.word("role", each.role),
                _limits(book, symptoms[each.symptom].sex, symptoms[each.symptom].age_low, symptoms[each.symptom].age_high),
                "<br>".join(escape(text) for text in book.wordings(each.symptom)),
                page.cite(symptoms[each.symptom]),
            )
            for each in row.symptoms
        ),
    )
    page.table(
        "section.presentations",
        ("id", "opens_with", "then", "tempo", "who"),
        (
            (
                code(each.id),
                escape(book.name("symptoms", each.opens_with)),
                escape(book.listed(book.name("symptoms", name) for name in each.then)),
                book.word("tempo", each.tempo),
                _limits(book, each.sex, each.age_low, each.age_high),
            )
            for each in row.presentations
        ),
    )


def _tell_findings(page: Page, row: Condition) -> None:
    book = page.book
    if row.all_normal:
        page.heading("section.findings")
        page.paragraph(book.say("page.all_normal"))
    page.table(
        "section.findings",
        ("item", "moves", "size", "role", "trajectory", "sex", "source"),
        (
            (
                book.item(each.item),
                book.word("shown", each.moves),
                book.word("size", each.size) if each.size != "none" else "",
                book.word("role", each.role),
                book.word("trajectory", each.trajectory),
                book.word("sex", each.sex) if each.sex else "",
                page.cite(each),
            )
            for each in row.findings
        ),
    )
    page.table(
        "section.levels",
        ("item", "mean", "mean_m", "mean_f", "sd", "range", "source"),
        (
            (
                book.item(each.item),
                *(book.measure(value, book.unit_of(each.item)) for value in (each.mean, each.mean_m, each.mean_f, each.sd)),
                book.range(each.low, each.high, book.unit_of(each.item)),
                page.cite(each),
            )
            for each in row.levels
        ),
    )


def _tell_look_alikes(page: Page, row: Condition) -> None:
    book = page.book
    page.table(
        "section.look_alikes",
        ("condition", "told_apart_by", "here", "there", "discriminator", "source"),
        (
            (
                book.link("conditions", each.condition),
                _told_apart(book, each.told_apart_by),
                book.word("shown", each.told_apart_by.here),
                book.word("shown", each.told_apart_by.there),
                escape(each.discriminator.say(book.language)),
                page.cite(each),
            )
            for each in row.look_alikes
        ),
    )


def _tell_company(page: Page, row: Condition) -> None:
    """What other files say of the disease: comorbid pairs, drugs for it, protocols it has to do with, diseases that look like it."""
    book = page.book
    pairs = [pair for pair in book.knowledge.comorbidities.values() if row.id in (pair.a, pair.b)]
    page.table(
        "section.comorbidities",
        ("condition", "relation", "of_whom", "share", "source"),
        (
            (
                book.link("conditions", pair.b if pair.a == row.id else pair.a),
                book.word("relation", pair.relation),
                escape(book.name("conditions", pair.a)),
                book.share(pair.share_low, pair.share_high),
                page.cite(pair),
            )
            for pair in pairs
        ),
    )
    page.bullets("section.drugs", (book.link("drugs", drug.id) for drug in book.drugs if row.id in dict(drug.indications)))
    page.bullets("section.protocols", (book.link("protocols", name) for name in book.related[row.id]))
    seen = {each.condition for each in row.look_alikes}
    others = (other.id for other in book.conditions if any(each.condition == row.id for each in other.look_alikes))
    page.bullets("section.looks_like_this", (book.link("conditions", name) for name in others if name not in seen))


def _limits(book: Book, sex: str, low: int | None, high: int | None) -> str:
    return book.listed((book.word("sex", sex) if sex else "", book.ages(low, high)))


def _told_apart(book: Book, told: ToldApart) -> str:
    if told.item:
        return book.item(told.item)
    return book.link("drugs", told.drug) if told.drug else escape(book.name("symptoms", told.symptom))


def _red_flag(book: Book, flag: RedFlag) -> str:
    text = escape(flag.text.say(book.language))
    if flag.symptom:
        return book.say("page.read_from", text=text, item=escape(book.name("symptoms", flag.symptom)))
    if flag.item:
        limit = book.limit(flag, book.unit_of(flag.item))
        return book.say("page.read_from", text=text, item=book.say("page.item_limit", item=book.item(flag.item), limit=limit))
    return text
