"""Puts a report on disk: index.html, report.md, tables/*.csv. Each file is written whole, so that a reader sees all of it or the former."""

from pathlib import Path

from clinworld.core.errors import StoreError
from clinworld.core.store import write_atomic
from clinworld.report.content import ReportContent
from clinworld.report.markdown import render_markdown
from clinworld.report.page import render_page
from clinworld.report.tables import render_tables

PAGE, MARKDOWN, TABLES = "index.html", "report.md", "tables"


def write_report(content: ReportContent, folder: Path) -> Path:
    """Write a report into a folder, which is made when it is not there; the page's path. Raises StoreError when it cannot be written."""
    files = {PAGE: render_page(content), MARKDOWN: render_markdown(content)}
    files |= {f"{TABLES}/{name}": text for name, text in render_tables(content).items()}
    try:
        (folder / TABLES).mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StoreError(str(folder), f"cannot be written ({problem.strerror})", do="Choose another --out.") from None
    for name, text in files.items():
        write_atomic(folder / name, text.encode("utf-8"))
    return folder / PAGE
