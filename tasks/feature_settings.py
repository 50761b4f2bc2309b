"""The settings of features in a recipe: what becomes a term, and how terms are weighed."""

from typing import Any, Literal, get_args

from pydantic import Field, ValidationInfo, field_validator

from tagcore.text import Vectoriser
from tagcore.text.parameters import check_parameters
from tagcore.text.tokens import TOKEN_PATTERN
from tasks.recipe_part import RecipePart

# what is said of texts: words that were counted elsewhere have none
OF_TEXTS = ("fields", "own_columns", "ngram_range", "stop_words", "stem", "strip_accents", "analyzer")


class FeatureSettings(RecipePart):
    """The vectoriser's settings, named as scikit-learn's TfidfVectorizer names them; "none" takes one back."""

    strip_accents: Literal["ascii", "unicode"] | None = None
    lowercase: bool = True
    analyzer: Literal["word", "char", "char_wb"] = Field(
        "word", description='what n-grams are of: words, or characters; "char_wb": characters within words'
    )
    token_pattern: str = TOKEN_PATTERN
    ngram_range: tuple[int, int] = Field((1, 1), description="shortest and longest n-gram, such as [1, 2]")
    stop_words: Literal["english"] | list[str] | None = None
    stem: str | None = Field(None, description="a Snowball language, such as english")
    vocabulary: list[str] | None = Field(None, description="the terms to know, instead of those of the documents")
    min_df: int | float = 1
    max_df: int | float = 1.0
    max_features: int | None = Field(None, description="keep so many terms, the most frequent ones")
    max_features_by: Literal["tf", "df"] = Field("tf", description="most occurrences, or most documents")
    hashed_columns: int | None = Field(
        None, description="hash terms to so many columns, such as 262144, instead of learning a vocabulary"
    )
    sublinear_tf: bool = False
    use_idf: bool = True
    smooth_idf: bool = True
    binary: bool = False
    norm: Literal["l1", "l2"] | None = "l2"
    fields: dict[str, float] | None = Field(
        None, description="weights of named fields, such as {title = 4, text = 1}; none: title and text as one text"
    )
    own_columns: list[str] = Field([], description="fields whose words have columns of their own")

    @field_validator("*", mode="before")
    @classmethod
    def _taken_back(cls, value: Any, known: ValidationInfo) -> Any:
        """TOML has no null: "none" is it, where a setting may be None."""
        field = cls.model_fields[str(known.field_name)]
        return None if value == "none" and type(None) in get_args(field.annotation) else value

    def require_sound(self) -> None:
        """Raises ValueError for settings that do not go together."""
        check_parameters(Vectoriser(**self.model_dump()).get_params())

    def on_top_of(self, **changes: Any) -> "FeatureSettings":
        """Checks and applies changes to some of the settings."""
        return FeatureSettings.model_validate(self.model_dump() | changes)
