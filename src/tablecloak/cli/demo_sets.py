"""`tablecloak demo --sets`: made-up shopping baskets, before and after."""

from __future__ import annotations

from pathlib import Path

from tablecloak.cli.demo import FOLDER, refuse_other_folders
from tablecloak.cli.output import emit, progress_for, remark
from tablecloak.cli.settings import Settings

OWN_FOLDER = Path("tablecloak-demo-sets")
N_SHOWN = 5


def show(directory: Path, settings: Settings) -> None:
    """Publish the baskets and show some of them before and after."""
    from tablecloak.sample import baskets_policy, write_baskets

    folder = OWN_FOLDER if directory == FOLDER else directory
    refuse_other_folders(folder, baskets_policy())
    with progress_for(settings) as progress:
        remark(settings, "Filling 2,000 baskets of customers who do not exist ...")
        from tablecloak import pipeline
        from tablecloak.policy.load import load_policy
        from tablecloak.report.about.check_run_verify import demonstrated, ran
        from tablecloak.report.about.table import first_rows

        policy_file = write_baskets(folder)
        policy = load_policy(policy_file)
        report = pipeline.run(policy, progress=progress, force=True).to_dict()
        assert policy.input_path is not None
        assert policy.output_path is not None
        blocks = [
            *ran(report),
            first_rows("The first baskets before", _rows(policy.input_path)),
            first_rows("and as published", _rows(policy.output_path)),
            *demonstrated({**report, "policy": policy_file}),
        ]
        emit(settings, report, blocks)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return [{"items": next(file).rstrip("\n").replace(";", "; ")} for _ in range(N_SHOWN)]
