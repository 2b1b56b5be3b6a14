"""The one door to the tooling: `nox -s evals`, `nox -s tests`, `nox -s lint`, `nox -s types`."""

import nox

nox.needs_version = ">=2024.10"
# pip in a virtualenv, not uv: only pip finds a CPU build of torch that lies on disk.
nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["tests", "lint", "types", "evals"]

# A script's own folder stays off the path: `datasets/` there would shadow Hugging Face's package of that name.
SAFE = {"PYTHONSAFEPATH": "1", "HF_HUB_OFFLINE": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
CONSTRAINED = ("--constraint", "constraints.txt")


@nox.session
def evals(session: nox.Session) -> None:
    """Measure: every policy and strategy over the scenario suite, verdicts, reports in reports/."""
    session.install(*CONSTRAINED, "-e", ".")
    session.run("stilltrue", "evals", *session.posargs, env=SAFE)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the test suite."""
    session.install(*CONSTRAINED, "-e", ".[dev]")
    session.run("pytest", *session.posargs, env=SAFE)


@nox.session
def figures(session: nox.Session) -> None:
    """Check the README's figures against the run in reports/."""
    session.install(*CONSTRAINED, "-e", ".", "pytest")
    session.run("pytest", "tests/figures", env=SAFE)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and format."""
    session.install(*CONSTRAINED, "ruff")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check types, strictly."""
    session.install(*CONSTRAINED, "-e", ".[dev]")
    session.run("pyright", env={"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"})
