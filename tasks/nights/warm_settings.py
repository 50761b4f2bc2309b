"""When models of a night go on from those of the night before. At what hour it starts: `infra/prefect.yaml`."""

from pydantic import Field

from tasks.recipe_part import RecipePart


class WarmSettings(RecipePart):
    """When a night goes on from the models of the night before, instead of training all from nothing.

    Words and tags that are new are then appended and only new documents are learnt. Each limit counts since idf was
    last learnt; where one is passed, words are weighed anew and every model is trained from nothing.
    """

    enabled: bool = True
    max_nights: int = Field(6, ge=0, description="in a row")
    max_days: float = Field(8, gt=0, description="since then")
    max_new: float = Field(0.5, ge=0, description="new documents for each that was there")
    max_unknown: float = Field(0.2, ge=0, le=1, description="of the words of new documents were not known then")
    max_changed: float = Field(0.05, ge=0, le=1, description="of the documents have another text or other tags")
    max_gone: float = Field(0.05, ge=0, le=1, description="of the documents are no longer there, and still learnt")
    max_removed_tags: int = Field(0, ge=0, description="tags that the data no longer name, and that models still give")
