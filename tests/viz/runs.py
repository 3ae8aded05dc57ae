"""Write run folders for tests, with every file that the report can read."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from fieldconv.geometry import Mesh
from fieldconv.viz import VertexValues, write_shape
from shapes import icosphere

PARTS = ["head", "hand", "lower arm", "upper arm", "torso", "upper leg", "lower leg", "foot"]

# How the evaluations below are to be read, as the evaluation itself says it.
DESCRIPTIONS: dict[str, dict[str, Any]] = {
    "classification": {"metrics": {"accuracy": {}}, "rank_by": "accuracy"},
    "segmentation": {
        "metrics": {"accuracy": {}, "mean_iou": {}},
        "rank_by": "accuracy",
        "shapes_caption": "Switch between prediction, truth and mistakes.",
    },
    "correspondence": {
        "metrics": {
            "within_0.05": {"title": "within 0.05"},
            "mean_error": {"title": "mean error × 100", "better": "less", "style": "plain"},
        },
        "rank_by": "mean_error",
        "curves": {
            "title": "Geodesic errors",
            "x": "geodesic error / √area",
            "y": "correspondences",
            "percent": True,
            "caption": "Share of points whose match is at most this far from the true one.",
        },
    },
    "matching": {
        "metrics": {"mean_average_precision": {}, "average_precision": {}},
        "rank_by": "average_precision",
        "curves": {"title": "Precision and recall", "x": "recall", "y": "precision"},
    },
    "regression": {
        "metrics": {"rmse": {"title": "RMSE in mm", "better": "less", "style": "plain"}},
        "rank_by": "rmse",
    },
}
BENCHMARK = {
    "name": "human segmentation set",
    "metric": "accuracy",
    "source": "test bodies of SHREC'07",
    "results": [["Field convolutions (paper)", 0.929], ["MeshWalker", 0.927]],
}
TASKS = ["classification", "segmentation", "correspondence", "matching", "regression"]


def ball(bumps: int = 0, name: str = "ball", subdivisions: int = 3, **data: Any) -> Mesh:
    vertices, faces = icosphere(subdivisions)
    radius = 1 + 0.15 * np.cos(bumps * np.arctan2(vertices[:, 0], vertices[:, 2])) * (bumps > 0)
    return Mesh(vertices * radius[:, None] * [0.7, 1, 0.6], faces, name=name, vertex_data=data)


def write_run(
    folder: Path, task: str, *, epochs: int = 12, seed: int = 0, name: str = "shape", described: bool = True
) -> Path:
    """Write a run folder of a task; its evaluation describes its numbers, or does not."""
    rng = np.random.default_rng(seed)
    config = {
        "library": "fieldconv",
        "task": task,
        "data": "creatures (train)",
        "class_names": PARTS,
        "network": {"radius": 0.2, "rings": 6, "band_limit": 2, "blocks": 2, "hidden": [64, 32]},
        "training": {"epochs": epochs, "learning_rate": 0.01, "seed": seed},
    }
    if described:
        config["up"] = "z"
        if task == "segmentation":
            config["benchmark"] = BENCHMARK
    _json(folder / "config.json", config)
    fall = np.exp(-np.arange(epochs) / 4)
    rows = [
        {
            "epoch": k + 1,
            "loss": 2 * fall[k] + 0.05 * rng.random(),
            "score": -3 * fall[k] if task == "regression" else 1 - 0.8 * fall[k],
            "learning_rate": 0.01,
            "seconds": 31.0 + rng.random(),
        }
        for k in range(epochs)
    ]
    for k, row in enumerate(rows):
        if task == "regression":
            row["validation_rmse"] = 4 * fall[k] + 0.3 + 0.1 * rng.random()
        else:
            row["validation_accuracy"] = 1 - 0.85 * fall[k] - 0.04 * rng.random()
    with open(folder / "log.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    evaluation = {
        "classification": _classes,
        "segmentation": _parts,
        "correspondence": _matches,
        "matching": _pairs,
        "regression": _numbers,
    }
    content = evaluation[task](folder / "evaluation" / "shapes", rng, name, described)
    own = {"description": DESCRIPTIONS[task]} if described else {}
    _json(
        folder / "evaluation" / "metrics.json",
        {"task": task, "class_names": [], "tables": {}, "curves": {}, **own, **content},
    )
    return folder


def _classes(shapes: Path, rng: np.random.Generator, name: str, described: bool) -> dict[str, Any]:
    truth = np.repeat(np.arange(8), 5)
    guess = np.where(rng.random(40) < 0.9, truth, rng.integers(0, 8, 40))
    counts = np.zeros((8, 8))
    np.add.at(counts, (truth, guess), 1)
    records = []
    for k, (t, g) in enumerate(zip(truth.tolist(), guess.tolist(), strict=True)):
        confidence = 0.5 + 0.49 * rng.random()
        record = {"name": f"{name} {k}", "truth": t, "predicted": g, "accuracy": float(t == g)}
        record["confidence"] = confidence
        if described:
            wrong = "" if t == g else f", predicted {PARTS[g]}"
            record["note"] = f"{PARTS[t]}{wrong} ({100 * confidence:.0f} %)"
            record["order"] = confidence if t == g else -confidence
        records.append(record)
    for k in (*np.flatnonzero(truth != guess)[:2], *np.flatnonzero(truth == guess)[:2]):
        write_shape(shapes / f"{k}.ply", ball(int(k) % 7), [])
    return {
        "metrics": {"accuracy": float((truth == guess).mean())},
        "class_names": PARTS,
        "tables": {"confusion": counts.tolist(), "unheard_of": [[1.0]]},
        "shapes": records,
    }


def _parts(shapes: Path, rng: np.random.Generator, name: str, described: bool) -> dict[str, Any]:
    counts = rng.random((8, 8)) * 20 + np.diag(rng.random(8) * 300 + 200)
    iou = np.diag(counts) / (counts.sum(0) + counts.sum(1) - np.diag(counts))
    records = [
        {"name": f"{name} {k}", "accuracy": 0.7 + 0.02 * k, "mean_iou": 0.6 + 0.02 * k, "vertices": 642}
        for k in range(10)
    ]
    names = tuple(PARTS) if described else ()
    for k in (0, 1, 8, 9):
        mesh = ball(k)
        height = mesh.vertices[:, 1]
        truth = np.clip(((height + 1) * 4).astype(np.int32), 0, 7)
        noise = 0.05 * (10 - k) * rng.normal(size=len(height))
        noisy = np.clip(((height + 1 + noise) * 4).astype(np.int32), 0, 7)
        values = [
            VertexValues(name="Prediction", kind="labels", values=noisy, class_names=names),
            VertexValues(name="Truth", kind="labels", values=truth, class_names=names),
        ]
        write_shape(shapes / f"{k}.ply", mesh, values)
    labels = rng.integers(0, 8, 900)
    around = np.stack([np.cos(labels), np.sin(labels)], 1) * 10
    np.savez(shapes.parent / "descriptors.npz", points=around + rng.normal(size=(900, 2)), labels=labels)
    return {
        "metrics": {
            "accuracy": 0.79,
            "sample_accuracy": 0.918,
            "area_accuracy": 0.934,
            "mean_iou": float(iou.mean()),
        },
        "class_names": PARTS,
        "tables": {"confusion": counts.tolist(), "iou": iou.tolist()},
        "shapes": records,
    }


def _matches(shapes: Path, rng: np.random.Generator, name: str, described: bool) -> dict[str, Any]:
    ball(3, "template").save(shapes.parents[1] / "template.ply")
    records = [
        {
            "name": f"{name} {k}",
            "within_0.05": 0.8 + 0.02 * k,
            "exact": 0.4 + 0.01 * k,
            "mean_error": 3.0 - 0.1 * k,
        }
        for k in range(8)
    ]
    for k in (0, 7):
        mesh = ball(3 + k % 2)
        count = len(mesh.vertices)
        match = np.where(rng.random(count) < 0.95, np.arange(count), rng.integers(0, count, count))
        error = (rng.random(count) ** 6).astype(np.float32)
        values = [
            VertexValues(name="Correspondence", kind="places", values=match.astype(np.int32), key="match"),
            VertexValues(name="Geodesic error", kind="error", values=error, key="error"),
        ]
        for c in range(3):
            size = (np.abs(mesh.vertices[:, c % 3]) * (1 + c)).astype(np.float32)
            values.append(VertexValues(name=f"Feature {c}", kind="field", values=size))
        write_shape(shapes / f"{k}.ply", mesh, values)
    at = np.linspace(0, 0.25, 101)
    return {
        "metrics": {"within_0.05": 0.87, "exact": 0.43, "mean_error": 2.6, "area_under_curve": 0.91},
        "curves": {
            "geodesic error": np.stack([at, 1 - 0.6 * np.exp(-at * (40 + 30 * rng.random()))], 1).tolist()
        },
        "shapes": records,
    }


def _pairs(shapes: Path, rng: np.random.Generator, name: str, described: bool) -> dict[str, Any]:
    records = [
        {
            "name": f"{name} {k} → {k + 1}",
            "average_precision": 0.2 + 0.05 * k,
            "average_precision_hks": 0.1,
            "median_rank": 20.0 - k,
        }
        for k in range(6)
    ]
    for k in (0, 5):
        mesh = ball(2)
        rank = np.clip(mesh.vertices[:, 0] + 0.1 * k, 0, 1).astype(np.float32)
        rank_of = VertexValues(name="First right match", kind="error", values=rank, key="rank")
        write_shape(shapes / f"{k}.ply", mesh, [rank_of])
        ball(5, "other").save(shapes / f"{k}-model.ply")
    recall = np.linspace(0.01, 1, 100)
    steep = 1 + rng.random()
    return {
        "metrics": {"mean_average_precision": 0.325, "hks_mean_average_precision": 0.1},
        "curves": {
            "FCNet": np.stack([recall, (1 - recall) ** steep], 1).tolist(),
            "HKS": np.stack([recall, 0.3 * (1 - recall)], 1).tolist(),
        },
        "shapes": records,
    }


def _numbers(shapes: Path, rng: np.random.Generator, name: str, described: bool) -> dict[str, Any]:
    """Write numbers at vertices: less is better, nothing is in percent."""
    records = [{"name": f"{name} {k}", "rmse": 4.0 - 0.3 * k} for k in range(6)]
    for k in (0, 5):
        mesh = ball(k)
        height = mesh.vertices[:, 1]
        guess = height + 0.1 * rng.normal(size=len(height))
        values = [
            VertexValues(name="Height, predicted", kind="scalar", values=guess, key="prediction"),
            VertexValues(name="Height", kind="scalar", values=height, key="truth"),
            VertexValues(name="Flow", kind="field", values=np.exp(1j * height)),
        ]
        write_shape(shapes / f"{k}.ply", mesh, values)
    return {"metrics": {"rmse": 3.25 - 0.1 * rng.random()}, "shapes": records}


def _json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
