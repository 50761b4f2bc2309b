"""What every group of a recipe's settings is."""

from pydantic import BaseModel, ConfigDict


class RecipePart(BaseModel):
    """A group of settings; unknown names are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)
