"""Learn to tell the classes of your own meshes: a folder with one subfolder of meshes for each class."""

import sys
from pathlib import Path

import fieldconv as fc


def main(folder: str | Path, out: str | Path = "classify-run", epochs: int = 30, **network: object) -> float:
    data = fc.datasets.FolderDataset(folder, "classification", split="train")
    test = fc.datasets.FolderDataset(folder, "classification", split="test")

    model = fc.FCNet.for_task("classification", classes=data.num_classes, preset="quick", **network)
    fc.train(model, data, preset="quick", epochs=epochs, out=out)
    result = fc.evaluate(model, test)
    for shape in result.shapes:
        if shape["predicted"] != shape["truth"]:
            print(f"{shape['name']} was taken for a {data.class_names[shape['predicted']]}")

    again = fc.FCNet.from_pretrained(out)  # all it needs is in the folder
    name = again.class_names[again.predict(test.meshes(0)[0])]
    print(f"{test.names[0]} is a {name}; {result.metrics['accuracy']:.1%} of the test meshes are right")
    return result.metrics["accuracy"]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python classify_folder.py FOLDER   (`fieldconv datasets make` shows a layout)")
    main(sys.argv[1])
