"""One small certificate of our checker, made once, for the tests of certificates."""

import tempfile
from functools import lru_cache
from pathlib import Path

from emr_case import knowledge

from clinworld.packs.emr_write.certificate.certify import Certified, Plan, certify_checker
from clinworld.packs.emr_write.certificate.commitment import read_seed
from clinworld.packs.emr_write.certificate.measure import open_store
from clinworld.packs.emr_write.certificate.shape import CertificateFile
from clinworld.packs.emr_write.store.protocol import Store

SMALL = Plan(3)


@lru_cache(maxsize=1)
def folder() -> Path:
    """Where the certificate was written."""
    return Path(tempfile.mkdtemp(prefix="clinworld-certificate-"))


@lru_cache(maxsize=1)
def certified() -> Certified:
    return certify_checker(folder(), SMALL, read_seed("a test", None), knowledge())


def certificate() -> CertificateFile:
    return certified().certificate


@lru_cache(maxsize=1)
def record_system() -> Store:
    return open_store("sqlite")
