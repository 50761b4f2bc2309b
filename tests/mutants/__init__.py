"""Faults that were found to slip through once, or that would matter most: `make mutants` plants each and runs its
tests. A suite is worth what it catches."""

from tests.mutants.flows import FLOWS
from tests.mutants.infra import INFRA
from tests.mutants.models import MODELS
from tests.mutants.tagcore import TAGCORE
from tests.mutants.tasks import TASKS

FAULTS = (*MODELS, *TAGCORE, *TASKS, *FLOWS, *INFRA)
