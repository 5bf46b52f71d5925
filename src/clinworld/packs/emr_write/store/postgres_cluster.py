"""A throw-away PostgreSQL for tests and benches: made in a folder, on a unix socket alone, stopped and deleted at the end."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OWNER = "clinworld"
_PLACES = ("/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/16/bin", "/usr/lib/postgresql/17/bin", "/usr/lib/postgresql/14/bin")


def find_postgres() -> Path | None:
    """The folder with initdb and pg_ctl, None where there is none."""
    found = shutil.which("initdb")
    places = ([Path(found).resolve().parent] if found else []) + [Path(place) for place in _PLACES]
    return next((place for place in places if (place / "initdb").exists() and (place / "pg_ctl").exists()), None)


@contextmanager
def start_postgres(binaries: Path) -> Iterator[str]:
    """The conninfo of a running cluster. As root it runs as the user postgres, which PostgreSQL insists on."""
    is_root = os.geteuid() == 0
    folder = Path(tempfile.mkdtemp(prefix="clinworld-pg-", dir="/tmp"))  # a socket's path must be short
    before = ["runuser", "-u", "postgres", "--"] if is_root else []
    try:
        if is_root:
            user = pwd.getpwnam("postgres")
            os.chown(folder, user.pw_uid, user.pw_gid)
        folder.chmod(0o700 if not is_root else 0o755)
        place = folder / "data"
        make = ["initdb", "-D", str(place), "-U", OWNER, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off -c synchronous_commit=off"
        start = ["pg_ctl", "-D", str(place), "-w", "-l", str(folder / "log"), "-o", options, "start"]
        for name, *words in (make, start):
            subprocess.run([*before, str(binaries / name), *words], check=True, stdout=subprocess.DEVNULL, cwd=folder)
        try:
            yield f"host={folder} user={OWNER} dbname=postgres"
        finally:
            stop = [*before, str(binaries / "pg_ctl"), "-D", str(place), "-m", "immediate", "-w", "stop"]
            subprocess.run(stop, check=False, stdout=subprocess.DEVNULL, cwd=folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
