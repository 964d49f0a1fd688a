"""Unpacks the sources of wheels: `python unpack.py FOLDER TARGET` gives TARGET/vllm/vllm, TARGET/sglang/sglang."""

import sys
import zipfile
from pathlib import Path


def main(wheels, target):
    """Unpacks Python, JSON and template files of each wheel's package of the same name."""
    for wheel in sorted(Path(wheels).glob("*.whl")):
        name = wheel.name.split("-")[0]
        with zipfile.ZipFile(wheel) as archive:
            names = [one for one in archive.namelist() if one.startswith(f"{name}/")]
            archive.extractall(Path(target) / name, [one for one in names if one.endswith((".py", ".json", ".jinja"))])


if __name__ == "__main__":
    main(*sys.argv[1:3])
