"""`report.html` of a run, and one page that compares several runs.

RUN FOLDER
----------
The report reads these files and nothing else; whatever is missing is left out of the page.

``config.json``
    Settings as nested JSON, shown as they are. ``task`` and, where known, ``dataset`` (a name such as
    "shrec11", "human_seg", "faust", "shrec19") choose the published figures that stand beside the results.
``metrics.csv``
    One row per epoch under a line of names. ``epoch`` is the x axis; columns that end in ``loss`` share one
    plot, shares between 0 and 1 another; ``learning_rate`` and ``seconds`` get their own.
``evaluation/metrics.json``
    ``Evaluation.to_dict()``: ``task``, ``metrics``, ``class_names``, ``tables`` (``confusion``, ``iou``),
    ``curves`` (name to rows of x, y) and ``shapes`` (``name`` and own numbers of each test shape).
``evaluation/shapes/<number>.ply``
    Best and worst test shapes; <number> is the place in ``shapes``. What the vertices carry is shown:
    ``truth``, ``prediction`` (classes), ``error`` (number), ``match`` (vertex of ``evaluation/template.ply``),
    ``rank`` (of the first right match, as a share of all), ``feature_0``, ``feature_1``, … (magnitudes).
``evaluation/descriptors.npz``
    ``points`` (n, 2): t-SNE of descriptors; ``labels`` (n,): parts they come from.

`fieldconv.viz.evidence.write_evidence` makes the last two from a network and a test set.
"""

from __future__ import annotations
