"""`fieldconv predict`: apply a trained network to new meshes."""

from __future__ import annotations

import sys
from pathlib import Path

import fieldconv as fc
from fieldconv import training
from fieldconv._checked import check_count
from fieldconv._io import write_csv, write_json
from fieldconv._progress import track
from fieldconv.commands.arguments import Also, Meshes, Run
from fieldconv.commands.output import check_elsewhere, mesh_paths, one_line

PRINTED_NOTES = 20


def predict_command(
    run: Run,
    meshes: Meshes,
    /,
    *,
    out: Path,
    descriptors: bool = True,
    rotations: int = 1,
    samples: int | None = None,
    samplings: int = 1,
    also: tuple[Also, ...] = (),
) -> int:
    """Apply a trained network to meshes it has never seen, of any resolution and quality.

    Writes for each mesh NAME.npy (labels of its vertices), NAME.csv (with names and probabilities), NAME.ply
    (coloured), NAME.probabilities.npy and NAME.descriptors.npy; and predictions.csv for classification.
    predictions.json lists what was odd about each mesh: vertices without position or face, components,
    repairs. Goes on past files that cannot be read, and ends with exit code 1 if there were any.

    $ fieldconv predict RUN new.stl --out RESULT
    $ fieldconv predict RUN FOLDER list.txt --out RESULT
    $ fieldconv predict RUN scan.xyz --out RESULT --also glb obj

    Args:
        run: Run or checkpoint folder, or the name of a network that `fieldconv models` lists.
        meshes: Mesh files or clouds of points (ply, obj, off, xyz without faces), folders of meshes, or text
            files that list them.
        out: Folder for the results.
        descriptors: Also write the descriptors of the vertices.
        rotations: Average over this many orientations of each shape; slower, a little better.
        samples: Samples on each shape, instead of as many as the network was trained with; a network trained
            on damaged copies takes three times as many, up to 3,072, for steadier borders.
        samplings: Average over this many sets of samples of each shape; slower, borders of parts a little
            better.
        also: Further formats for the coloured mesh.
    """
    fc.keep_freed_memory()
    paths = mesh_paths(meshes)
    check_count("rotations", rotations)
    check_elsewhere(out, paths)
    model = fc.load(run)
    out.mkdir(parents=True, exist_ok=True)  # fails at once if it cannot be
    task = training.task_of(model)
    rows: list[dict[str, object]] = []
    records: list[dict[str, object]] = []
    notes, problems = [], []
    names = training.distinct(path.stem for path in paths)
    for path, name in track(list(zip(paths, names, strict=True)), "Predicting"):
        try:
            found = fc.predict(
                model,
                path,
                rotations=rotations,
                descriptors=descriptors,
                samples=samples,
                samplings=samplings,
                out=out,
                name=name,
                also=also,
            )
        except (ValueError, OSError) as error:
            problems.append(one_line(error, path))
            continue
        summary = task.summary(found)
        odd = found.input.to_dict() if found.input is not None else {}
        rows.append({"file": path, **summary})
        records.append({"file": str(path), "name": name, **odd, **summary})
        if note := "; ".join(filter(None, (task.note(found), str(found.input or "")))):
            notes.append(f"  {path}: {note}")
    if rows and len(rows[0]) > 1:
        write_csv(out / "predictions.csv", list(rows[0]), (list(row.values()) for row in rows))
    content = {"run": str(run), "trained": model.task is not None, "meshes": records, "problems": problems}
    write_json(out / "predictions.json", content)
    print(f"{len(rows)} of {len(paths)} meshes done, in {out}.")
    if model.task is None:
        print("The network was never trained, so its results mean nothing.")
    print("\n".join(notes[:PRINTED_NOTES]), end="\n" if notes else "")
    if len(notes) > PRINTED_NOTES:
        print(f"  … and {len(notes) - PRINTED_NOTES} more, in {out / 'predictions.json'}")
    for problem in problems:
        print(f"fieldconv: {problem}", file=sys.stderr)
    return 1 if problems else 0
