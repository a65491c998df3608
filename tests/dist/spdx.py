#!/usr/bin/env python3
"""The fields that SPDX 2.3 requires, and the sums of the files: spdx.py DOCUMENT TARBALL DEB BINARY"""

import hashlib
import json
import os
import re
import sys

LIBRARIES = {
    "libc6-dev", "libstdc++-12-dev", "libseccomp-dev", "libcap-dev", "libsodium-dev",
    "nlohmann-json3-dev", "libspdlog-dev", "libfmt-dev", "libxxhash-dev", "tinyxml2",
}


def sum_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def main():
    document = json.load(open(sys.argv[1], encoding="utf-8"))
    assert document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0"
    assert document["SPDXID"] == "SPDXRef-DOCUMENT" and document["name"]
    assert re.fullmatch(r"https://[^#]+", document["documentNamespace"])
    info = document["creationInfo"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", info["created"])
    assert all(re.match(r"(Tool|Person|Organization): ", creator) for creator in info["creators"])

    packages = {package["SPDXID"]: package for package in document["packages"]}
    assert len(packages) == len(document["packages"])
    for package in packages.values():
        assert re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"]), package
        assert package["name"] and package["downloadLocation"], package
        assert re.match(r"\d", package["versionInfo"]), package
    names = {package["name"]: package for package in packages.values()}
    for name in LIBRARIES:
        assert names[name]["licenseDeclared"] != "NOASSERTION", name
    assert names["trainit"]["licenseDeclared"] == "Apache-2.0"

    ends = {*packages, "SPDXRef-DOCUMENT"}
    links = document["relationships"]
    assert all(link["spdxElementId"] in ends and link["relatedSpdxElement"] in ends for link in links)
    linked = {link["relatedSpdxElement"] for link in links if link["relationshipType"] == "STATIC_LINK"}
    assert linked == {names[name]["SPDXID"] for name in LIBRARIES}
    described = {link["relatedSpdxElement"] for link in links if link["relationshipType"] == "DESCRIBES"}
    assert described == {"SPDXRef-tarball", "SPDXRef-deb"}

    for name, path in zip([*map(os.path.basename, sys.argv[2:4]), "trainit"], sys.argv[2:]):
        [stated] = names[name]["checksums"]
        assert stated == {"algorithm": "SHA256", "checksumValue": sum_of(path)}, path


main()
