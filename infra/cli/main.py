"""The `tagflow` command."""

import gc
import io
import sys
from typing import Annotated

import typer

from infra.cli import (
    clean,
    demo_site,
    doctor,
    experiment,
    ingest,
    models,
    recommend,
    report,
    run,
    schedule,
    stack,
    tag,
    tune,
)
from infra.cli.user_errors import STANDS, one_line_of

INTERRUPTED = 130  # what typer makes of Ctrl-C

app = typer.Typer(
    name="tagflow",
    no_args_is_help=True,
    rich_markup_mode=None,  # costs half a second of start-up
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Learns to tag: from tagged documents to a measured, registered and promoted model.

    Start with `tagflow run`: it makes a small corpus, trains, compares, registers and promotes, and suggests tags.
    Then point it at your own: `tagflow run --data notes.jsonl`, and ask: `tagflow tag "some text"`.
    """,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"tagflow {version('tagflow')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of the command itself, before any subcommand; typer shows the help of `app` instead of this line."""


app.command()(run.run)
app.command()(experiment.train)
app.command()(experiment.experiment)
app.command()(tune.tune)
app.command()(ingest.ingest)
app.command()(tag.tag)
app.command()(recommend.recommend)
app.command()(demo_site.demo_site)
app.command()(doctor.doctor)
app.command()(stack.up)
app.command()(stack.down)
app.command()(stack.status)
app.command()(report.report)
app.command()(models.models)
app.command()(models.promote)
app.command()(models.rollback)
app.command()(clean.clean)
app.command("open")(stack.open_page)
app.command()(stack.logs)
app.add_typer(schedule.app, name="schedule")


def main() -> None:
    """Runs the command; what a user can mend is told in one line, without a traceback."""
    gc.set_threshold(50_000)  # what imports make is not garbage: to look through it costs a fifth of the start
    for stream in (sys.stdout, sys.stderr):  # a tag that the terminal's encoding lacks must not end a run
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except Exception as error:
        line = one_line_of(error)
        if line is None:
            raise
        print(f"tagflow: {line}", file=sys.stderr)
        sys.exit(1)
    except SystemExit as ended:
        if ended.code == INTERRUPTED:
            print(f"tagflow: stopped; {STANDS}", file=sys.stderr)
        raise
    finally:
        gc.freeze()  # or Python looks through it once more before it ends, for a second or two


if __name__ == "__main__":
    main()
