"""Reads a YAML file into nodes, which know their lines; what is wrong with it is a fault with file, line and remedy."""

from __future__ import annotations

from pathlib import Path

import yaml

from specialists.files.frontmatter import CrewFault, yaml_fault


def yaml_root(path: Path, faults: list[CrewFault], *, hint: str = "", most: int | None = None) -> yaml.Node | None:
    """Return the root of a file; None if it is empty or cannot be read, which is added to the faults.

    `hint` is what often helps where YAML is not valid, and `most` the bytes that are read at most.
    """
    try:
        data = path.read_bytes()
        if most is not None and len(data) > most:
            faults.append(CrewFault(path, 1, f"the file has {len(data)} bytes; at most {most} are read"))
            return None
        loader = yaml.SafeLoader(data.decode("utf-8-sig"))
        loader.name = str(path)  # so that each node knows its file
        try:
            return loader.get_single_node()
        finally:
            loader.dispose()
    except (OSError, UnicodeDecodeError) as error:
        faults.append(CrewFault(path, 1, f"the file cannot be read ({error}); save it as UTF-8"))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        words = yaml_fault(error, hint) if hint else yaml_fault(error)
        faults.append(CrewFault(path, mark.line + 1 if mark else 1, f"the file is not valid YAML: {words}"))
    except RecursionError:
        faults.append(CrewFault(path, 1, "the file is nested too deep"))
    return None
