"""The reference page of a protocol: what an agent may look up, with links and the source of each rule."""

from clinworld.knowledge.markdown import escape
from clinworld.knowledge.page_text import Book, begin_page, code
from clinworld.knowledge.protocol_text import render_protocol
from clinworld.knowledge.rule_rows import Protocol
from clinworld.knowledge.rules import facts_of


def render_protocol_page(book: Book, row: Protocol) -> str:
    """The protocol as `render_protocol` gives it, then what it looks at, and where each rule comes from."""
    page = begin_page(book, "protocols", row.id, row.names)
    page.lines.clear()  # the protocol brings its own title
    page.paragraph(render_protocol(row, book.knowledge, book.language).rstrip())
    if row.subject.complaint:
        page.bullets("section.said_as", (book.say("page.quoted", text=escape(text)) for text in book.wordings(row.subject.complaint)))
    looked_at = dict.fromkeys(fact for rule in row.rules for fact in facts_of(rule.when))
    linked = [book.link("drugs", name) for name in row.subject.drugs]
    linked += [book.link("analytes", name) for name in looked_at if name in book.knowledge.analytes]
    linked += [book.link("streams", name) for name in looked_at if name in book.knowledge.streams]
    page.bullets("section.looks_at", linked)
    page.bullets("section.about_conditions", (book.link("conditions", name) for name, told in book.related.items() if row.id in told))
    page.heading("section.rule_sources")
    page.rows(
        (book.say("column.rule"), book.say("column.id"), book.say("column.source")),
        [(f"{number}", code(rule.id), page.cite(rule)) for number, rule in enumerate(row.rules, start=1)],
    )
    page.facts(
        (
            ("id", code(row.id)),
            ("kind", book.word("protocol", row.kind)),
            ("clinical_review", book.word("review", row.clinical_review)),
            ("source", page.cite(row)),
        )
    )
    return page.text()
