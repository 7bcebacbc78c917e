#!/usr/bin/env python3
"""Writes what the `girih` command is built of as a CycloneDX 1.5 document, from cargo's own metadata.

    tools/supply/sbom.py [TRIPLE] > girih.cdx.json

The same lock file, manifests and triple give the same bytes: there is no time in it, and its serial number is a hash
of the rest. Only packages that are compiled into the command are listed, build scripts and procedural macros among
them ("scope": "excluded"); what only tests use is not.
"""

import json
import re
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "girih-cli"


def cargo_metadata(triple):
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform", triple]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def host():
    version = subprocess.run(["rustc", "-vV"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.search(r"^host: (.*)$", version, re.M)[1]


def reached(metadata):
    """Packages that the command is made of: by normal dependencies, and those that only run while it is built."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    macros = {p["id"] for p in metadata["packages"] if any("proc-macro" in t["kind"] for t in p["targets"])}
    root = next(p["id"] for p in metadata["packages"] if p["name"] == COMMAND)
    in_program, all_of_them, edges = set(), set(), {}
    todo = [(root, True)]
    while todo:
        package, linked = todo.pop()
        if package in in_program or (package in all_of_them and not linked):
            continue
        all_of_them.add(package)
        if linked:
            in_program.add(package)
        for dep in nodes[package]["deps"]:
            kinds = {kind["kind"] for kind in dep["dep_kinds"]}
            if kinds == {"dev"}:
                continue
            edges.setdefault(package, set()).add(dep["pkg"])
            todo.append((dep["pkg"], linked and None in kinds and dep["pkg"] not in macros))
    return root, in_program, all_of_them, edges


def main():
    triple = sys.argv[1] if len(sys.argv) > 1 else host()
    metadata = cargo_metadata(triple)
    packages = {p["id"]: p for p in metadata["packages"]}
    root, in_program, all_of_them, edges = reached(metadata)
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    sums = {(p["name"], p["version"]): p.get("checksum") for p in lock}

    def purl(package):
        return f"pkg:cargo/{package['name']}@{package['version']}"

    def component(package):
        found = {
            "type": "application" if package["id"] == root else "library",
            "bom-ref": purl(package),
            "name": package["name"],
            "version": package["version"],
            "purl": purl(package),
            "scope": "required" if package["id"] in in_program else "excluded",
        }
        if package.get("license"):
            found["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        checksum = sums[package["name"], package["version"]]
        if checksum:
            found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        if package.get("repository"):
            found["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
        return found

    by_purl = sorted((packages[i] for i in all_of_them), key=purl)
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": component(packages[root]),
            "properties": [{"name": "cargo:target", "value": triple}],
        },
        "components": [component(p) for p in by_purl if p["id"] != root],
        "dependencies": [
            {"ref": purl(p), "dependsOn": sorted(purl(packages[d]) for d in edges.get(p["id"], ()))} for p in by_purl
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    json.dump({"serialNumber": f"urn:uuid:{serial}", **document}, sys.stdout, indent=2)
    print()


main()
