"""What a verb was pointed at: a job (file or packaged name), a batch folder, or a pack folder."""

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, get_origin

from cyclopts import Parameter

from clinworld.core.digest import digest_value
from clinworld.core.errors import StampMismatch, StoreError, UsageError, nearest_match
from clinworld.core.text import LANGUAGES, Language
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.packs.declaration import refuse_kind
from clinworld.packs.load import LoadedPack, find_card, list_cards, load_pack, pack_names
from clinworld.run.batch_files import BATCH, Batch, BatchFacts, find_batch, newest_batch, open_batch
from clinworld.schema.job import Job
from clinworld.world.job_file import find_job, read_job

MOST_DIGITS = 18
BATCH_FILES = ("batch.json", "audit.jsonl")
JSON_KINDS: dict[Any, tuple[type, ...]] = {  # what a field of batch.json may be, by the kind of its type
    str: (str,),
    Literal: (str,),
    float: (float, int),
    dict: (dict,),
    tuple: (list,),
    UnionType: (dict, NoneType),
}


def _read_whole(_: type, tokens: Sequence[Any]) -> int:
    """A whole number as written; 1.5 is refused, not rounded."""
    text = str(tokens[0].value)
    if not text.strip().lstrip("+-").isdecimal() or len(text) > MOST_DIGITS:
        raise ValueError(f"{text[:40]!r} is no whole number")
    return int(text)


WholeNumber = Annotated[int, Parameter(converter=_read_whole)]


def _read_folder(_: Any, tokens: Sequence[Any]) -> Path:
    """A folder to write to; an empty name, often an empty variable of a script, does not mean the current folder."""
    name = str(tokens[0].value)
    if not name.strip():
        raise ValueError("an empty name is no folder; '.' is the current one")
    return Path(name)


OutFolder = Annotated[Path, Parameter(converter=_read_folder)]


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """Knowledge and a pack, loaded with what was added from outside."""

    knowledge: Knowledge
    pack: LoadedPack
    pack_dirs: tuple[Path, ...]
    knowledge_dir: Path | None
    job_digests: tuple[str, ...] = ()  # of the job file in each language


def open_job(
    name: str, *, language: str | None = None, packs: Sequence[Path] = (), knowledge_dir: Path | None = None
) -> tuple[Setting, Job]:
    """The job a name or path means, with everything it needs. Raises JobError, KnowledgeError or PackError."""
    card = find_card(name, extra_dirs=packs) if is_pack(name, packs) else None
    if card is not None and card.kind != "questions":
        raise refuse_kind(card)
    knowledge = load_knowledge(knowledge_dir)
    job = read_job(find_job(name), knowledge, tasks=pack_names(packs))
    digests = {each: job.digest if each == job.language else digest_value([job.digest, each]) for each in LANGUAGES}
    chosen = job.language if language is None else check_language(language)
    setting = Setting(knowledge, load_pack(job.task, extra_dirs=packs), tuple(packs), knowledge_dir, tuple(digests.values()))
    return setting, replace(job, language=chosen, digest=digests[chosen])


def open_batch_target(target: str, *, packs: Sequence[Path] = (), knowledge_dir: Path | None = None) -> tuple[Setting, Batch]:
    """The batch in a folder, with the pack and knowledge it was built with; a missing batch.json is told by whoever checks the batch."""
    batch = open_batch(Path(target))
    facts = read_facts(batch)
    recorded = Path(facts.knowledge_folders[0]) if facts.knowledge_folders else None
    folders = (*packs, Path(facts.pack_folder)) if facts.pack_folder and not packs else tuple(packs)
    knowledge = load_knowledge(knowledge_dir or recorded)
    return Setting(knowledge, load_pack(facts.pack, extra_dirs=folders), folders, knowledge_dir or recorded), batch


def read_facts(batch: Batch) -> BatchFacts:
    """What batch.json says, or its seal where there is no such file or it is no JSON.

    Raises StoreError naming the file and the key for one that is JSON and yet no batch's.
    """
    where, do = str(batch.path(BATCH)), "Restore the file or build the batch again."
    try:
        row: Any = batch.description
    except StoreError:
        return batch.sealed_facts()
    if not isinstance(row, dict):
        raise StoreError(where, f"{type(row).__name__} at the top", "an object is expected", do=do)
    for field in fields(BatchFacts):
        if field.name not in row:
            if field.default is MISSING and field.default_factory is MISSING:
                raise StoreError(where, f"no key {field.name!r}", nearest=nearest_match(field.name, row), do=do)
            continue
        kinds = JSON_KINDS[get_origin(field.type) or field.type]
        if not isinstance(row[field.name], kinds):
            raise StoreError(where, f"{field.name} is {type(row[field.name]).__name__}", f"{kinds[0].__name__} is expected", do=do)
    try:
        return batch.facts()
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise StoreError(where, f"what a batch does not say ({problem})", do=do) from None


def check_language(language: str) -> Language:
    """A language of the product, or a UsageError naming them."""
    for known in LANGUAGES:
        if language == known:
            return known
    raise UsageError("--language", f"{language!r}", "allowed: " + ", ".join(LANGUAGES), nearest=nearest_match(language, LANGUAGES))


def is_batch(target: str) -> bool:
    """True when a path names a batch folder."""
    path = Path(target)
    return path.is_dir() and any((path / name).exists() for name in BATCH_FILES)


def is_pack(target: str, packs: Sequence[Path] = ()) -> bool:
    """True for a pack folder, and for the name of a pack where no file or folder of that name is."""
    return (Path(target) / "pack.yaml").is_file() or (not Path(target).exists() and target in list_cards(packs))


def choose_batch(setting: Setting, job: Job, out: Path, stamp: str | None, *, in_any_language: bool = False) -> Batch | None:
    """The newest batch of a job under `out` in its language or in any, the one named by `stamp`, or None when there is none.

    Raises StampMismatch when batches exist but the job file was edited since.
    """
    digests = setting.job_digests if in_any_language else (job.digest,)
    if stamp is None:
        newest = newest_batch(out, job.job_id, digests, kin=setting.job_digests)
        if newest is not None:
            read_facts(newest)
        return newest
    batch = find_batch(out, job.job_id, stamp)
    found = read_facts(batch).job_digest
    if found not in digests:
        raise StampMismatch(str(batch.folder), f"it was built from job digest {found}", f"the file's is {job.digest}", do="Build again.")
    return batch
