import json
import os
from contextlib import suppress
from pathlib import Path

import pytest
from tests.reroll_dev.toys import Told

from reroll_dev.errors import DevClusterError
from reroll_dev.store import Store, cache_folder


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "core-123")


def keep(store, content="a program", *, recipe="r", mode=0o755):
    with store.workshop(Told()) as work:
        (work / "etcd").write_text(content)
        (work / "etcd").chmod(mode)
        return store.keep(work / "etcd", "etcd", recipe)


def test_what_was_kept_is_found_again(store):
    path = keep(store)
    assert store.lookup("etcd", "r") == path == store.folder / "etcd"
    assert path.read_text() == "a program"


def test_an_empty_store_has_nothing(store):
    assert store.lookup("etcd", "r") is None


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda path: path.write_text(""), id="an empty file"),
        pytest.param(lambda path: path.write_text("a prog"), id="a file cut short"),
        pytest.param(lambda path: path.chmod(0o644), id="a file that is not executable"),
        pytest.param(lambda path: path.unlink(), id="a file that is gone"),
        pytest.param(lambda path: path.with_name(".ok").unlink(), id="no record"),
        pytest.param(lambda path: path.with_name(".ok").write_text("{"), id="half a record"),
        pytest.param(
            lambda path: path.with_name(".ok").write_text("[]"), id="a record of another kind"
        ),
    ],
)
def test_a_damaged_store_is_noticed_and_mended(store, damage):
    damage(keep(store))
    assert store.lookup("etcd", "r") is None
    assert keep(store) == store.lookup("etcd", "r")


def test_another_recipe_does_not_count(store):
    keep(store, recipe="old")
    assert store.lookup("etcd", "new") is None


def test_an_empty_file_never_counts_even_if_it_was_kept(store):
    keep(store, content="")
    assert store.lookup("etcd", "r") is None


def test_one_record_vouches_for_all(store):
    keep(store)
    with store.workshop(Told()) as work:
        (work / "crds").write_text("kind: A")
        store.keep(work / "crds", "crds", "c")
    assert store.lookup("etcd", "r")
    assert store.lookup("crds", "c")
    assert sorted(json.loads((store.folder / ".ok").read_text())) == ["crds", "etcd"]


def test_work_leaves_nothing_behind_whether_it_ends_well_or_not(store):
    keep(store)
    with suppress(KeyboardInterrupt), store.workshop(Told()) as work:
        (work / "half").write_text("x")
        raise KeyboardInterrupt
    assert sorted(path.name for path in store.folder.iterdir()) == [".ok", "etcd"]


def test_what_a_killed_run_left_is_removed_by_the_next(store):
    leftover = store.folder / ".work-dead"
    leftover.mkdir(parents=True)
    (leftover / "half").write_text("x")
    with store.workshop(Told()):
        assert not leftover.exists()


def test_a_cache_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "file").touch()
    store = Store(tmp_path / "file/core-123")
    assert store.lookup("etcd", "r") is None
    with (
        pytest.raises(DevClusterError, match=r"cannot write .*: Not a directory; .*XDG_CACHE_HOME"),
        store.workshop(Told()),
    ):
        pass


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/reroll"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/reroll"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/reroll"),
        ({}, f"{Path.home()}/.cache/reroll"),
    ],
)
def test_the_cache_is_where_the_xdg_rules_say(env, folder):
    assert cache_folder(env) == Path(folder)


def use(store, name, at):
    """A file of that name that was last used then."""
    with store.workshop(Told()) as work:
        (work / "draft").write_text(name)
        path = store.keep(work / "draft", name, "r")
    os.utime(path, (at, at))
    return path


def forget(store, **terms):
    with store.workshop(Told()) as work:
        store.forget("web-*.tar", work=work, **terms)


def test_files_that_were_used_last_stay_and_older_ones_go(store):
    old, _, _ = (use(store, f"web-{at}.tar", at) for at in (100, 200, 300))
    other = use(store, "python-1.tar", 50)
    forget(store, but=2, used_before=1000)
    assert sorted(path.name for path in store.folder.glob("*.tar")) == [
        *("python-1.tar", "web-200.tar", "web-300.tar")
    ]
    assert store.lookup(old.name, "r") is None
    assert store.lookup(other.name, "r") == other
    assert old.name not in (store.folder / ".ok").read_text()


def test_a_file_that_was_used_lately_stays_however_many_there_are(store):
    for at in (100, 200, 300):
        use(store, f"web-{at}.tar", at)
    forget(store, but=1, used_before=150)
    assert sorted(path.name for path in store.folder.glob("*.tar")) == [
        *("web-200.tar", "web-300.tar")
    ]


def test_to_look_a_file_up_is_to_use_it(store):
    first, second = (use(store, f"web-{at}.tar", at) for at in (100, 200))
    assert store.lookup(first.name, "r") == first
    forget(store, but=1, used_before=1000)
    assert (first.exists(), second.exists()) == (True, False)
