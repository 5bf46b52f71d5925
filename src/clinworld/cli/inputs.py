"""`clinworld inputs`."""

from pathlib import Path
from typing import Any

from clinworld.cli.console import Console
from clinworld.cli.target import OutFolder, check_language, open_job
from clinworld.core.errors import UsageError, allowed_values, nearest_match
from clinworld.core.rng import Rng
from clinworld.core.text import Language
from clinworld.knowledge.listing import KINDS, KindCount, count_kinds, list_rows
from clinworld.knowledge.listing_words import Speaker
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.knowledge.pages import PAGE_KINDS, build_pages, write_pages
from clinworld.packs.load import WritesPack, list_cards, load_pack
from clinworld.run.build import list_cases
from clinworld.world.in_force import list_in_force, write_out
from clinworld.world.job_file import packaged_jobs, read_job
from clinworld.world.premise import derive_premise

MOST_ROWS = 400
LISTS = ("jobs", "packs")


def inputs(
    what: str | None = None,
    /,
    *,
    pages: OutFolder | None = None,
    language: str | None = None,
    knowledge: Path | None = None,
    pack: tuple[Path, ...] = (),
    json: bool = False,
    quiet: bool = False,
) -> int:
    """List what goes in: a kind of knowledge row, or the values in force in a job.

    Without a name: how many rows there are of each kind, and the shares of them by status. Knowledge rows are shown with value, unit,
    source and status; a job's values with how each came to be: written, default, derived from another, or drawn. `--pages DIR` writes
    all of it as linked Markdown, a page for each condition, drug, analyte, stream, test, event and protocol.

    Parameters
    ----------
    what
        conditions, drugs, analytes, streams, symptoms, findings, tests, events, artifacts, protocols, comorbidities, factors, specialties,
        sources, jobs, packs and so on; or a job file or packaged name.
    pages
        A folder for the reference pages: a new or empty one, or one of earlier pages, which are replaced.
    language
        en or zh. The language of the pages, en unless given; or the one language in which the rows of a kind are shown, both unless
        given; fields and closed words are then said as the pages say them, and without it written as the files write them.
        Citations of sources and meanings of parameters are there in English alone.
    knowledge
        A folder of further knowledge rows.
    pack
        A pack folder from outside the package; may be given several times.
    json
        One JSON document on standard output, nothing else.
    quiet
        Only the last line, and errors.
    """
    console = Console(as_json=json, quiet=quiet)
    if pages is not None:
        return _write_pages(what, pages, language, knowledge, console)
    shown = None if language is None else check_language(language)
    if what is not None:
        _check_name(what)
    if shown is not None and what not in KINDS:
        told, do = ("alone", "Add --pages DIR or name a kind, or leave it out.") if what is None else (f"with {what!r}", "Leave it out.")
        raise UsageError("inputs", f"--language {shown} {told}", "it is for a kind of rows, or for --pages", do=do)
    if what is None:
        return _count_all(load_knowledge(knowledge), console)
    if what == "jobs":
        return _list_jobs(console)
    if what == "packs":
        return _list_packs(pack, console)
    if what in KINDS:
        return _list_kind(what, shown, knowledge, console)
    return _list_job(what, knowledge, pack, console)


def _check_name(what: str) -> None:
    """Raises UsageError for a name that is neither a kind nor a list nor a job."""
    if not what.strip():
        raise UsageError("inputs", "an empty name", allowed_values((*KINDS, *LISTS), most=40), do="Name a kind of row, or a job.")
    options = (*KINDS, *LISTS, *(path.stem for path in packaged_jobs()))
    if what not in options and not Path(what).exists() and "/" not in what and not what.endswith(".yaml"):
        raise UsageError(
            "inputs", f"{what!r} is neither a kind nor a job", allowed_values(options, most=60), nearest=nearest_match(what, options)
        )


def _list_jobs(console: Console) -> int:
    known = load_knowledge()
    rows = []
    for path in packaged_jobs():
        job = read_job(path, known)
        rows.append({"name": path.stem, "task": job.task, "language": job.language, "cases": len(job.cases) + (job.items or 0)})
    console.table([(row["name"], row["task"], row["language"], f"{row['cases']} cases") for row in rows])  # type: ignore[misc]  # all text
    console.finish(f"{len(rows)} packaged jobs; build one with `clinworld build NAME`.", {"jobs": rows})
    return 0


def _list_packs(packs: tuple[Path, ...], console: Console) -> int:
    cards = list_cards(packs)
    rows: list[dict[str, Any]] = []
    for card in cards.values():
        kind, languages = card.kind.replace("_", " "), ", ".join(card.languages)
        console.say(f"{card.name}  {kind}, version {card.version}, in {languages}")
        console.say(f"    {card.asks.en}")
        console.say(f"    {card.asks.zh}")
        row = {"name": card.name, "kind": card.kind, "version": card.version, "asks": {"en": card.asks.en, "zh": card.asks.zh}}
        row |= {"languages": card.languages, "folder": str(card.folder), "used_by": card.used_by}
        if card.kind == "record_writes":
            row["contents"] = contents = WritesPack(card).list_contents()
            console.say("    " + ", ".join(f"{len(names)} {sort.replace('_', ' ')}" for sort, names in contents.items()))
            console.say("    used by " + ", ".join(card.used_by))
        else:
            row["episodes"] = episodes = load_pack(card.folder).pack.episodes
            console.say("    episodes " + ", ".join(episodes))
        rows.append(row)
    asked = sum(card.kind == "questions" for card in cards.values())
    told = f"{len(rows)} packs, {asked} of questions: `task: NAME` in a job."
    console.finish(f"{told} Check one with `clinworld verify NAME`.", {"packs": rows})
    return 0


def _count_all(known: Knowledge, console: Console) -> int:
    counts = count_kinds(known)
    console.table([(count.kind, str(count.rows), _sorts(count), _shares(count)) for count in counts])
    rows = sum(count.rows for count in counts if count.kind != "all")
    everything = next(count for count in counts if count.kind == "all")
    share = everything.share("checked")
    console.finish(
        f"{rows} rows of {len(counts) - 1} kinds; with the entries inside them {everything.rows}, {share:.1f} % of which are checked.",
        {"kinds": [count.to_row() for count in counts]},
    )
    return 0


def _write_pages(what: str | None, folder: Path, language: str | None, knowledge: Path | None, console: Console) -> int:
    if what is not None:
        raise UsageError("inputs", f"{what!r} together with --pages", "the pages are of every kind", do="Leave the name out.")
    pages = build_pages(load_knowledge(knowledge), check_language(language or "en"))
    write_pages(folder, pages)
    counts = {kind: sum(path.startswith(f"{kind}/") for path in pages) for kind in PAGE_KINDS}
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    index = folder / next(iter(pages))
    console.finish(f"{len(pages)} pages ({told}, and an index) in {folder}; begin with {index}.", {"pages": counts, "index": str(index)})
    return 0


def _sorts(count: KindCount) -> str:
    return ", ".join(f"{rows} {sort.replace('_', ' ')}" for sort, rows in count.sorts)


def _shares(count: KindCount) -> str:
    return ", ".join(f"{share.status} {share.share_pct:.1f} %" for share in count.shares)


def _list_kind(kind: str, language: Language | None, knowledge: Path | None, console: Console) -> int:
    known = load_knowledge(knowledge)
    rows = list_rows(kind, known, language)
    speaker = None if language is None else Speaker(known, language)
    for row in rows:
        names = (row.names.en, row.names.zh) if language is None else (row.names.say(language),)
        said = [name for name in dict.fromkeys(names) if name != row.id]
        console.say(f"{row.id}  {' / '.join(said)}".rstrip())
        for name, value, unit in row.values:
            console.say(f"    {name} {value} {unit}".rstrip() if speaker is None else f"    {speaker.line(name, value, unit)}")
        console.say(f"    source {row.source}, status {row.status}" if speaker is None else f"    {speaker.origin(row.source, row.status)}")
    checked = sum(row.status == "checked" for row in rows)
    told = f"{len(rows)} {kind}, {checked} of them checked."
    document: dict[str, Any] = {"kind": kind, "rows": [row.to_row() for row in rows]}
    if kind == "sources":
        everything = next(count for count in count_kinds(known) if count.kind == "all")
        share = everything.share("checked")
        told += f" Of all {everything.rows} rows and entries that name one, {share:.1f} % are checked."
        document["checked_share_pct"] = share
    console.finish(told, document)
    return 0


def _list_job(name: str, knowledge: Path | None, pack: tuple[Path, ...], console: Console) -> int:
    setting, job = open_job(name, packs=pack, knowledge_dir=knowledge)
    rng = Rng(job.seed)
    document: list[dict[str, Any]] = []
    cases = list_cases(job, setting.pack, setting.knowledge)
    for case in cases:
        premise = derive_premise(case, job, setting.knowledge, rng)
        listed = list_in_force(case, premise)
        console.say(case.case_id)
        console.table([(key, _text(value), how) for key, value, how in listed], most=MOST_ROWS)
        document.append({"case": write_out(case, premise), "how": {key: how for key, _, how in listed}})
    if job.without_effect:
        console.say(f"Without effect here: {', '.join(job.without_effect)}.")
    console.finish(
        f"{len(cases)} cases of {job.job_id}, task {job.task}, language {job.language}.",
        {"job_id": job.job_id, "task": job.task, "language": job.language, "without_effect": job.without_effect, "cases": document},
    )
    return 0


def _text(value: Any) -> str:
    text = "none" if value in (None, (), []) else str(value)
    return text if len(text) <= 48 else text[:47] + "…"
