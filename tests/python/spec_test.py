"""Specs: built, compared, planned, refused."""

import datetime
import json
import os
import pickle

import hermetic
import pytest
from hermetic import Spec, Tree


def test_the_library_is_of_the_same_version():
    assert hermetic.library_version() == hermetic.__version__


def test_says_the_same_as_a_spec_file(place):
    (place / "out").mkdir()
    (place / "secret").write_text("")
    (place / "hermetic.yaml").write_text("""
version: 1
command: [cc, -c, main.c]
directory: $here
inputs: [/usr, {path: $here, except: [$here/out, $here/secret]}]
outputs: [{path: $here/out, publish: merge}]
temps: [/scratch]
network: [example.org:443]
environment: {set: {CC: gcc}, pass: [TERM]}
limits: {memory: 4G, wall_time: 90s}
process: {cpus: 2}
on_violation: fail
give_up: [memory-limit]
""")
    built = Spec(command=["cc", "-c", "main.c"], directory=place,
                 inputs=["/usr", Tree(".", except_=["out", "secret"])],
                 outputs=[{"path": "out", "publish": "merge"}], temps=["/scratch"],
                 network=["example.org:443"], env={"CC": "gcc"}, pass_env=["TERM"],
                 limits={"memory": "4G", "wall_time": 90}, process={"cpus": 2}, on_violation="fail",
                 give_up=["memory-limit"])
    assert built.digest == Spec.from_file("hermetic.yaml").digest
    # and so does what it writes down
    assert Spec.from_yaml(json.dumps(built.to_dict())).digest == built.digest
    assert Spec.from_yaml(json.dumps(built.canonical())).digest == built.digest
    assert built.replace(hostname="other").digest != built.digest


def test_trees_stand_where_they_are_told_to(place):
    (place / "src").mkdir()
    (place / "src" / "a").write_text("a")
    (place / "image").mkdir()
    built = Spec(command=["true"], inputs=[Tree("src", at="/w", except_=["/w/secret"])],
                 outputs=[{"path": "out", "at": "/o"}], temps=[Tree("src", at="/copy")],
                 root={"path": "image", "writable": False})
    assert built.digest == Spec.from_yaml(f"""
version: 1
command: ["true"]
root: {place}/image
inputs: [{{path: {place}/src, at: /w, except: [/w/secret]}}]
outputs: [{{path: {place}/out, at: /o}}]
temps: [{{at: /copy, over: {place}/src}}]
""").digest
    assert Spec.from_yaml(json.dumps(built.to_dict())).digest == built.digest
    assert Spec.from_yaml(json.dumps(built.canonical())).digest == built.digest
    result = hermetic.run(["sh", "-c", "cat /w/a; echo b >/o/b; echo c >/copy/a"], cwd="/", capture_output=True,
                          inputs=[Tree("src", at="/w")], outputs=[Tree("out", at="/o")],
                          temps=[Tree("src", at="/copy")], check=True)
    assert (result.stdout, (place / "out" / "b").read_text()) == (b"a", "b\n")
    assert (place / "src" / "a").read_text() == "a"


def test_what_is_set_wins_over_the_file():
    spec = Spec.from_yaml("version: 1\ncommand: ['true']\nlimits: {memory: 1G, processes: 4}\n")
    spec.limits = {"memory": "2G", "cpu_time": datetime.timedelta(minutes=1)}
    assert spec.canonical()["limits"] == {"memory": "2G", "processes": "4", "cpu_time": "1m"}


def test_takes_a_target_of_several():
    text = "version: 1\ntargets: {a: {command: [one]}, b: {command: [two]}}\n"
    assert Spec.from_yaml(text, "b").canonical()["command"] == ["two"]
    with pytest.raises(hermetic.InvalidSpecError):
        Spec.from_yaml(text)


def test_plans():
    plan = Spec(["true"], inputs=["/usr"]).plan(backend="model")
    assert plan["command"] == ["true"]
    assert any(entry["path"] == "/usr" for entry in plan["view"])
    assert {clause["clause"] for clause in hermetic.capabilities()["clauses"]} >= {"no-network"}


@pytest.mark.parametrize("spec, word", [
    (Spec(["true"], inputs=["/nonexistent"]), "inputs[0]"),
    (Spec([], inputs=["/usr"]), "command"),
    (Spec(["true"], inputs=["/usr"], outputs=["/usr/lib"]), "/usr"),
    (Spec(["true"], network="everything"), "everything"),
    (Spec(["true"], limits={"memory": "much"}), "much"),
    (Spec(["true"], limits={"wall_time": -1}), "wall_time"),
    (Spec(["true"], env={"A-B": "1"}), "A-B"),
    (Spec(["true"], directory="a/../b"), ".."),
    (Spec(["true"], give_up=["nothing"]), "nothing"),
])
def test_refuses_what_cannot_be_meant(spec, word):
    with pytest.raises(hermetic.InvalidSpecError) as refused:
        spec.build()
    assert word in str(refused.value)
    assert refused.value.kind == "invalid"
    assert isinstance(refused.value, ValueError)
    again = pickle.loads(pickle.dumps(refused.value))
    assert (again.message, again.hint, again.origin) == (
        refused.value.message, refused.value.hint, refused.value.origin)


def test_names_the_place_in_a_file():
    with pytest.raises(hermetic.InvalidSpecError) as refused:
        Spec.from_yaml("version: 1\ninptus: []\n", file_name="mine.yaml")
    assert refused.value.origin == "mine.yaml:2:1"
    assert "inputs" in refused.value.hint


@pytest.mark.parametrize("wrong", [
    {"command": "true"}, {"command": ["true"], "inputs": "/usr"}, {"command": ["true"], "pass_env": "TERM"},
    {"command": ["true"], "inputs": [{"way": "/usr"}]}, {"command": [None]},
])
def test_refuses_the_wrong_types(wrong):
    with pytest.raises(TypeError):
        Spec(**wrong).build()


@pytest.mark.parametrize("spec", [
    Spec(["a\0b"]), Spec(["true"], inputs=["/usr\0"]), Spec(["true"], env={"A": "b\0"}),
    Spec(["true"], env={"A\0": "b"}), Spec(["true"], pass_env=["A\0"]), Spec(["true"], directory="/\0"),
])
def test_refuses_texts_that_c_would_cut(spec):
    with pytest.raises(ValueError, match="null byte"):
        spec.build()


def test_refuses_huge_texts():
    with pytest.raises(hermetic.InvalidSpecError):
        Spec.from_yaml("version: 1\n" + "#" * (2 << 20))
    with pytest.raises(hermetic.InvalidSpecError):
        Spec.from_yaml("[" * 100_000)
    with pytest.raises(hermetic.InvalidSpecError):
        Spec.from_yaml("version: 1\ncommand: ['\udcff']\n")


def test_takes_many_declarations(place):
    for number in range(500):
        (place / f"file{number}").write_text("")
    spec = Spec(["true"], inputs=[f"file{number}" for number in range(500)])
    assert len(spec.canonical()["inputs"]) == 500


def test_relative_paths_are_of_the_current_directory(place):
    (place / "a").mkdir()
    os.chdir("a")
    assert Spec(["true"], inputs=["..", "."]).canonical()["inputs"] == [
        {"path": str(place)}, {"path": str(place / "a")}]
