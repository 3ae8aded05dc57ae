"""Run folders made up for tests: every file the report can read, for each task."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from fieldconv.geometry.mesh import Mesh
from shapes import icosphere

PARTS = ["head", "hand", "lower arm", "upper arm", "torso", "upper leg", "lower leg", "foot"]


def ball(bumps: int = 0, name: str = "ball", subdivisions: int = 3, **data: Any) -> Mesh:
    vertices, faces = icosphere(subdivisions)
    radius = 1 + 0.15 * np.cos(bumps * np.arctan2(vertices[:, 0], vertices[:, 2])) * (bumps > 0)
    return Mesh(vertices * radius[:, None] * [0.7, 1, 0.6], faces, name=name, vertex_data=data)


def write_run(folder: Path, task: str, *, epochs: int = 12, seed: int = 0, name: str = "shape") -> Path:
    """A run folder of a task, with an evaluation."""
    rng = np.random.default_rng(seed)
    benchmark = {"classification": "SHREC'11 in data", "segmentation": "human segmentation set in data"}
    config = {
        "library": "fieldconv",
        "task": task,
        "data": benchmark.get(task, "creatures (train)"),
        "class_names": PARTS,
        "network": {"radius": 0.2, "rings": 6, "band_limit": 2, "blocks": 2, "hidden": [64, 32]},
        "training": {"epochs": epochs, "learning_rate": 0.01, "seed": seed},
    }
    _json(folder / "config.json", config)
    fall = np.exp(-np.arange(epochs) / 4)
    rows = [
        {
            "epoch": k + 1,
            "loss": 2 * fall[k] + 0.05 * rng.random(),
            "score": 1 - 0.8 * fall[k],
            "learning_rate": 0.01,
            "seconds": 31.0 + rng.random(),
            "validation_accuracy": 1 - 0.85 * fall[k] - 0.04 * rng.random(),
        }
        for k in range(epochs)
    ]
    with open(folder / "log.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    shapes = folder / "evaluation" / "shapes"
    evaluation = {
        "classification": _classes,
        "segmentation": _parts,
        "correspondence": _matches,
        "matching": _pairs,
    }
    content = evaluation[task](shapes, rng, name)
    _json(
        folder / "evaluation" / "metrics.json",
        {"task": task, "class_names": [], "tables": {}, "curves": {}, **content},
    )
    return folder


def _classes(shapes: Path, rng: np.random.Generator, name: str) -> dict[str, Any]:
    truth = np.repeat(np.arange(8), 5)
    guess = np.where(rng.random(40) < 0.9, truth, rng.integers(0, 8, 40))
    counts = np.zeros((8, 8))
    np.add.at(counts, (truth, guess), 1)
    records = [
        {
            "name": f"{name} {k}",
            "truth": int(t),
            "predicted": int(g),
            "accuracy": float(t == g),
            "confidence": 0.5 + 0.49 * rng.random(),
        }
        for k, (t, g) in enumerate(zip(truth, guess, strict=True))
    ]
    for k in (*np.flatnonzero(truth != guess)[:2], *np.flatnonzero(truth == guess)[:2]):
        ball(int(k) % 7).save(shapes / f"{k}.ply")
    return {
        "metrics": {"accuracy": float((truth == guess).mean())},
        "class_names": PARTS,
        "tables": {"confusion": counts.tolist()},
        "shapes": records,
    }


def _parts(shapes: Path, rng: np.random.Generator, name: str) -> dict[str, Any]:
    counts = rng.random((8, 8)) * 20 + np.diag(rng.random(8) * 300 + 200)
    iou = np.diag(counts) / (counts.sum(0) + counts.sum(1) - np.diag(counts))
    records = [
        {"name": f"{name} {k}", "accuracy": 0.7 + 0.02 * k, "mean_iou": 0.6 + 0.02 * k} for k in range(10)
    ]
    for k in (0, 1, 8, 9):
        mesh = ball(k)
        height = mesh.vertices[:, 1]
        truth = np.clip(((height + 1) * 4).astype(np.int32), 0, 7)
        noisy = np.clip(
            ((height + 1 + 0.05 * (10 - k) * rng.normal(size=len(height))) * 4).astype(np.int32), 0, 7
        )
        ball(k, truth=truth, prediction=noisy).save(shapes / f"{k}.ply")
    labels = rng.integers(0, 8, 900)
    around = np.stack([np.cos(labels), np.sin(labels)], 1) * 10
    np.savez(shapes.parent / "descriptors.npz", points=around + rng.normal(size=(900, 2)), labels=labels)
    return {
        "metrics": {
            "accuracy": 0.921,
            "sample_accuracy": 0.918,
            "area_accuracy": 0.934,
            "mean_iou": float(iou.mean()),
        },
        "class_names": PARTS,
        "tables": {"confusion": counts.tolist(), "iou": iou.tolist()},
        "shapes": records,
    }


def _matches(shapes: Path, rng: np.random.Generator, name: str) -> dict[str, Any]:
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
        match = np.where(rng.random(count) < 0.95, np.arange(count), rng.integers(0, count, count)).astype(
            np.int32
        )
        features = {
            f"feature_{c}": (np.abs(mesh.vertices[:, c % 3]) * (1 + c)).astype(np.float32) for c in range(3)
        }
        error = (rng.random(count) ** 6).astype(np.float32)
        ball(3 + k % 2, match=match, error=error, **features).save(shapes / f"{k}.ply")
    at = np.linspace(0, 0.25, 101)
    return {
        "metrics": {"within_0.05": 0.87, "exact": 0.43, "mean_error": 2.6, "area_under_curve": 0.91},
        "curves": {
            "geodesic error": np.stack([at, 1 - 0.6 * np.exp(-at * (40 + 30 * rng.random()))], 1).tolist()
        },
        "shapes": records,
    }


def _pairs(shapes: Path, rng: np.random.Generator, name: str) -> dict[str, Any]:
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
        ball(2, rank=np.clip(mesh.vertices[:, 0] + 0.1 * k, 0, 1).astype(np.float32)).save(
            shapes / f"{k}.ply"
        )
        ball(5, "other").save(shapes / f"{k}-model.ply")
    recall = np.linspace(0.01, 1, 100)
    steep = 1 + rng.random()
    return {
        "metrics": {"mean_average_precision": 0.34, "hks_mean_average_precision": 0.11},
        "curves": {
            "FCNet": np.stack([recall, (1 - recall) ** steep], 1).tolist(),
            "HKS": np.stack([recall, 0.3 * (1 - recall)], 1).tolist(),
        },
        "shapes": records,
    }


def _json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
