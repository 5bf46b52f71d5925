"""What a job asks and how: the pack its task or plugins mean, the episode its switches mean, its seed and its mix.

Raises JobError. Whether the pack supports the episode is for whoever loads packs.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast, get_args

from clinworld.core.digest import digest_bytes
from clinworld.core.errors import allowed_values, nearest_match
from clinworld.core.tables import Place
from clinworld.knowledge.load import Knowledge
from clinworld.schema.job import EpisodeKind
from clinworld.world.job_keys import load_job_keys, load_task_names, other_kind
from clinworld.world.job_text import JobText, describe, number_text

DEFAULT_TASK = "early_warning"
MIX_AXES = ("outcome", "driver", "disease")
_MIX_TABLES = {"driver": "drivers", "disease": "conditions"}
_ROUNDS_TASK = "tracking_review"  # the reference asks this one in rounds unless told otherwise
_PRIVATE = "private:"
_MOST_SEED_BYTES = 65_536
_SEED_CHARACTERS = 32  # 128 bits when written in hexadecimal


def read_task(text: JobText, top: dict[str, Any], tasks: Sequence[str]) -> str:
    """The pack the job is for, one of `tasks`."""
    place: Place = ("task",) if "task" in top else ("task_type",)
    written = [top[key] for key in ("task", "task_type") if key in top]
    for key in ("task", "task_type"):
        if key in top and (not isinstance(top[key], str) or not top[key]):
            raise text.error((key,), describe(top[key]), allowed_values(tasks), kind="unknown_task")
    if len(set(written)) > 1:
        found = f"task {describe(top['task'])} and task_type {describe(top['task_type'])}"
        raise text.error(("task_type",), found, "they are one key", do="Remove one of them.")
    plugin = _read_plugins(text, top.get("plugins"))
    name = plugin[0] if plugin else (written[0] if written else DEFAULT_TASK)
    if plugin:
        place = plugin[1]
    meant = load_task_names().get(name)
    pack = name if meant is None or name in tasks else (meant.pack_when_gated if top.get("gated") else meant.pack)
    if pack in tasks:
        return str(pack)
    if meant is not None:
        found = f"{describe(name)} means the pack {pack!r}, which is not among the packs here"
        raise text.error(place, found, allowed_values(tasks), do="Choose one of these tasks.", kind="unknown_task")
    if kind := other_kind(name):
        found = f"{name!r} is a pack of kind {kind}: it asks no questions, it is rewarded on a live record system"
        raise text.error(place, found, allowed_values(tasks), do="`clinworld inputs packs` says what it is used by.", kind="unknown_task")
    raise text.error(place, f"no task {describe(name)}", allowed_values(tasks), nearest=nearest_match(name, tasks), kind="unknown_task")


def _read_plugins(text: JobText, plugins: Any) -> tuple[str, Place] | None:
    if plugins is None:
        return None
    known = {name: row for name, row in load_task_names().items() if row.kind == "plugin"}
    named: list[tuple[Any, Place]] = []
    if isinstance(plugins, dict):
        for key, group in plugins.items():
            if key not in ("judges", "world"):
                nearest = nearest_match(key, ("judges", "world"))
                raise text.error(("plugins", key), f"no key {describe(key)}", "allowed: judges, world", nearest=nearest)
            if not isinstance(group, list):
                raise text.error(("plugins", key), describe(group), "a list of names is expected")
            named += [(name, ("plugins", key, n)) for n, name in enumerate(group)]
    elif isinstance(plugins, list):
        named = [(name, ("plugins", n)) for n, name in enumerate(plugins)]
    else:
        raise text.error(("plugins",), describe(plugins), "a list of names is expected")
    for name, place in named:
        if not isinstance(name, str) or name not in known:
            nearest = nearest_match(name, known) if isinstance(name, str) else None
            raise text.error(place, f"no plugin {describe(name)}", allowed_values(known), nearest=nearest, kind="unknown_plugin")
    packs = {known[name].pack for name, _ in named}
    if len(packs) > 1:
        raise text.error(("plugins",), f"plugins of {len(packs)} packs", "a job is for one pack", do="Keep the plugins of one pack.")
    return named[0] if named else None


def names_plugin(top: dict[str, Any]) -> bool:
    """Whether the plugins of a checked job name a pack, which then decides the task."""
    plugins = top.get("plugins") or []
    return any(plugins.values()) if isinstance(plugins, dict) else bool(plugins)


def read_episode(text: JobText, top: dict[str, Any], task: str) -> EpisodeKind | None:
    """How the agent is asked: gated before slices before multiround before single; None when no switch is written."""
    has_slices = _read_slices(text, top.get("slices"))
    rounds = top.get("multiround", True if task == _ROUNDS_TASK else None)
    episode: str | None = None
    if top.get("gated"):
        episode = "purchase"
    elif has_slices:
        episode = "slices"
    elif rounds is not None:
        episode = "rounds" if rounds else "single"
    switches = [key for key in ("gated", "slices", "multiround") if top.get(key)]
    if "episode" in top:
        if switches and top["episode"] != episode:
            found = f"episode {top['episode']} and {', '.join(switches)}"
            raise text.error(("episode",), found, f"the switches mean {episode}", do="Remove one of them.")
        episode = top["episode"]
    assert episode is None or episode in get_args(EpisodeKind)
    return cast("EpisodeKind | None", episode)


def _read_slices(text: JobText, slices: Any) -> bool:
    words = load_job_keys()["top"]["slices"].allowed
    if slices is None or slices == "":
        return False
    if isinstance(slices, str):
        if slices not in words:
            nearest = nearest_match(slices, words)
            raise text.error(("slices",), describe(slices), allowed_values(words) + " or a list of days", nearest=nearest)
        return True
    rule = "whole days in rising order are expected"
    if not isinstance(slices, list) or not slices:
        raise text.error(("slices",), describe(slices), allowed_values(words) + " or a list of days")
    for n, day in enumerate(slices):
        if not isinstance(day, int) or isinstance(day, bool) or day < 0 or (n and day <= slices[n - 1]):
            raise text.error(("slices", n), describe(day), rule)
    return True


def read_seed(text: JobText, top: dict[str, Any], folder: Path) -> str:
    """The seed of every draw; a private one is known to the run only and is shown through `shown_seed`."""
    seed = top.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int | str) or seed == "":
        raise text.error(("seed",), describe(seed), "a whole number or a word is expected")
    if str(seed).startswith(_PRIVATE):
        raise text.error(("seed",), describe(seed), "a private seed stands in a file", do="Use `seed_file`.")
    if "seed_file" not in top:
        return str(seed)
    if "seed" in top:
        raise text.error(("seed_file",), "seed and seed_file", "a job has one seed", do="Remove one of them.")
    content = _read_seed_file(text, top["seed_file"], folder.resolve())
    if len(content) < _SEED_CHARACTERS:
        found = f"a seed of {len(content)} characters"
        raise text.error(
            ("seed_file",), found, f"at least {_SEED_CHARACTERS} random characters are expected", do="Try `openssl rand -hex 32`."
        )
    return _PRIVATE + digest_bytes(b"world seed\x00" + content, length=64)


def _read_seed_file(text: JobText, name: str, folder: Path) -> bytes:
    """The content of a small regular file in the job's folder or below; nothing else is opened."""
    place, path = ("seed_file",), folder / name
    rule = f"a file in the folder of the job, {folder}, or below is expected"
    if Path(name).is_absolute() or ".." in Path(name).parts:
        why = "an absolute path" if Path(name).is_absolute() else "a path with `..`"
        raise text.error(place, f"{describe(name)}, {why}", rule, do="Put the file beside the job.")
    try:
        if not path.resolve(strict=True).is_relative_to(folder):
            raise text.error(place, f"{describe(name)}, a link that leaves the folder", rule, do="Put the file itself beside the job.")
        if not path.is_file():
            raise text.error(place, f"{describe(name)}, which is not a regular file", rule, do="Name a file with random characters.")
        with path.open("rb") as opened:
            content = opened.read(_MOST_SEED_BYTES + 1)
    except (OSError, RuntimeError) as problem:
        found = f"{describe(name)} cannot be read ({getattr(problem, 'strerror', None) or 'a link to itself'})"
        raise text.error(place, found, f"it is looked for in {folder}", do="Check the path.") from None
    if len(content) > _MOST_SEED_BYTES:
        found = f"{describe(name)}, more than {_MOST_SEED_BYTES:,} bytes"
        raise text.error(place, found, f"at most {_MOST_SEED_BYTES:,} bytes are read", do="Keep 32 to 100 random characters.")
    return content.strip()


def shown_seed(seed: str) -> str:
    """The seed as it may be stored and printed: itself when public, a digest that regenerates nothing when private.

    >>> shown_seed("7")
    '7'
    """
    return "sha256:" + digest_bytes(seed.encode(), length=32) if seed.startswith(_PRIVATE) else seed


def read_mix(text: JobText, mix: Any, knowledge: Knowledge) -> tuple[tuple[str, str], ...]:
    """(axis, "balanced") or (axis.label, share as text) pairs, sorted."""
    if mix is None:
        return ()
    if not isinstance(mix, dict):
        raise text.error(("mix",), describe(mix), "a mapping is expected", do="Write `mix: {outcome: balanced}`.")
    most = load_job_keys()["top"]["mix"].high or 1
    pairs: list[tuple[str, str]] = []
    for axis, shares in mix.items():
        if axis not in MIX_AXES:
            raise text.error(("mix", axis), f"no axis {describe(axis)}", allowed_values(MIX_AXES), nearest=nearest_match(axis, MIX_AXES))
        if shares == "balanced":
            pairs.append((axis, "balanced"))
            continue
        if not isinstance(shares, dict) or not shares:
            raise text.error(("mix", axis), describe(shares), "`balanced` or a share for each label is expected")
        for label, share in shares.items():
            if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= most:
                raise text.error(("mix", axis, label), describe(share), f"a share from 0 to {number_text(most)} is expected")
            pairs.append((f"{axis}.{_mix_label(text, axis, label, knowledge)}", str(float(share))))
        if not sum(shares.values()) > 0:
            raise text.error(("mix", axis), "shares that sum to 0", "one share at least is above 0")
    return tuple(sorted(pairs))


def _mix_label(text: JobText, axis: str, label: str, knowledge: Knowledge) -> str:
    table = _MIX_TABLES.get(axis)
    labels = knowledge.names(table) if table else list(load_job_keys()["latent"]["outcome"].allowed)
    found = knowledge.resolve(table, label) if table else (label if label in labels else None)
    if found is None:
        raise text.error(("mix", axis, label), f"no {axis} {describe(label)}", allowed_values(labels), nearest=nearest_match(label, labels))
    return found
