"""Copies of the prompts to break."""

from runtime.files.prompts import (
    PromptSet,
)
from tests.rooms import ROOT

PROMPTS = ROOT / "prompts"
FIELDS = ("phone", "birth_date", "gender", "occupation")


def rendered(prompts: PromptSet, *, stage: str = "OFFER", fields: tuple[str, ...] = FIELDS) -> str:
    return prompts.system(
        stage=stage,
        now_local="Monday evening",
        business_name="Clay & <Sons>",
        timezone="Europe/Moscow",
        lead_fields=fields,
    )
