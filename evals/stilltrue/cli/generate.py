"""``stilltrue generate``: templated volume, as a scenario file."""

import re
from pathlib import Path
from typing import Annotated

import typer

from stilltrue.cli.output import fail, user_errors

NEEDS_ARGUMENTS = True


def run(
    out: Annotated[Path, typer.Option(help="The YAML file to write; the family gets its name.")],
    family: Annotated[str, typer.Option(help="What happens to the facts: see `stilltrue list generators`.")],
    n: Annotated[int, typer.Option(min=1, max=100_000, help="How many facts in all.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same file.")] = 0,
    per_store: Annotated[int, typer.Option(min=1, help="How many facts lie in one store.")] = 500,
    questions: Annotated[int, typer.Option(min=1, help="At most so many questions per store.")] = 200,
) -> None:
    """Generate scenarios from a vocabulary: volume for scale, no substitute for hand-written ones.

    Their figures stand apart from those of hand-written families in every report.

    Example: stilltrue generate --family chain --n 10000 --per-store 10000 --seed 7 --out big_chain.yaml

    Then: stilltrue evals --suite big_chain.yaml --strategy bm25
    """
    from stilltrue.generator import as_yaml, generate

    if not re.fullmatch(r"[a-z0-9][a-z0-9_]*\.ya?ml", out.name):
        fail(f"--out is {out}, expected a file named *.yaml, with small letters, digits and _ before the dot")
    with user_errors(ValueError):
        made = generate(family, facts=n, seed=seed, name=out.stem, per_store=per_store, questions=questions)
        out.write_text(as_yaml(made), encoding="utf-8")
    asks = sum(step.ask is not None for scenario in made.scenarios for step in scenario.steps)
    typer.echo(f"Wrote {out}: {n} facts in {len(made.scenarios)} stores, {asks} questions")
