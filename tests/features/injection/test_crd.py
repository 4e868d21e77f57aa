"""The CustomResourceDefinition: one text, in the program, in deploy/ and in the docs."""

import json
from pathlib import Path

import yaml
from tests.support.command import reroll
from tests.support.injection_reference import PAGE, UPDATE, reference

from reroll.core.model.injection import Manifest, Spec, Status
from reroll.features.injection import crd
from reroll.features.injection.decide import CONDITIONS

ROOT = Path(__file__).parents[3]


def test_the_file_to_deploy_is_what_the_command_prints() -> None:
    printed = reroll("crds").out

    assert (ROOT / "deploy/crds/injections.reroll.dev.yaml").read_text() == printed, (
        "write it anew: reroll crds > deploy/crds/injections.reroll.dev.yaml"
    )
    assert yaml.safe_load(printed) == crd.manifest()
    assert json.loads(reroll("crds", "-o", "json").out) == crd.manifest()


def test_the_schema_and_the_types_have_the_same_fields() -> None:
    [version] = crd.manifest()["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]["properties"]

    assert set(schema["spec"]["properties"]) == set(Spec.__struct_encode_fields__)
    assert set(schema["status"]["properties"]) == set(Status.__struct_encode_fields__)
    assert Manifest.__struct_fields__ == ("metadata", "spec", "status")


def test_every_condition_is_named() -> None:
    described = {path: schema for path, schema, _ in crd.fields()}

    text = described["status.conditions[].type"]["description"]
    assert all(condition in text for condition in CONDITIONS)
    assert all(schema.get("description") for schema in described.values())


def test_the_page_of_the_reference_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), f"{PAGE} is out of date; run `{UPDATE}`"
