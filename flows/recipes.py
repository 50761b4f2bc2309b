"""Recipes by name: the presets that we ship in `flows/presets`, and TOML files of users."""

import tomllib
from pathlib import Path
from typing import Any

from tasks.feature_settings import FeatureSettings
from tasks.recipe import Recipe, RecipeError, parse_recipe, set_value

PRESETS = Path(__file__).parent / "presets"


def load_recipe(name: str, overrides: dict[str, Any] | None = None) -> Recipe:
    """Loads a shipped preset by name, or a TOML file by path; overrides are dotted settings.

    Features set by the overrides or by a user's file are noted as chosen: they beat what a data card suggests, which in
    turn beats what a preset says for all data.
    """
    path = Path(name)
    shipped = path.suffix != ".toml"
    if shipped:
        path = PRESETS / f"{name}.toml"
        if not path.is_file() or path.parent != PRESETS:
            known = ", ".join(preset_names())
            raise RecipeError(f"no preset {name!r}; there are {known}; or give the path of a .toml file")
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecipeError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RecipeError(f"{path}: not readable as TOML ({error})") from error
    plain.setdefault("name", path.stem)
    chosen = [] if shipped else list(plain.get("features", {}))
    for setting, value in (overrides or {}).items():
        set_value(plain, setting, value)
        chosen += list(value) if setting == "features" else [setting.removeprefix("features.")]
    plain["chosen_features"] = [name for name in chosen if name in FeatureSettings.model_fields]
    return parse_recipe(plain, str(path))


def preset_names() -> list[str]:
    """Lists the shipped presets."""
    return sorted(path.stem for path in PRESETS.glob("*.toml"))
