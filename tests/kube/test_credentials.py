import pytest
from tests.kube.fakes import StillClock

from reroll.kube.credentials import Credential, Fixed, TokenFile
from reroll.kube.errors import AuthError


async def test_a_token_file_is_read_again_after_a_minute(tmp_path):
    path, clock = tmp_path / "token", StillClock()
    path.write_text("one\n")
    source = TokenFile(path, clock)
    first = await source.credential()
    path.write_text("two")

    clock.move(59)
    assert await source.credential() is first
    clock.move(1)
    assert (await source.credential()).token == "two"


async def test_a_refused_token_is_read_again_at_once(tmp_path):
    path = tmp_path / "token"
    path.write_text("one")
    source = TokenFile(path, StillClock())
    first = await source.credential()
    path.write_text("two")

    assert (await source.credential(rejected=first)).token == "two"


async def test_a_refused_token_that_is_still_in_the_file_is_the_same_object(tmp_path):
    path = tmp_path / "token"
    path.write_text("one")
    source = TokenFile(path, StillClock())
    first = await source.credential()

    assert await source.credential(rejected=first) is first


@pytest.mark.parametrize("state", ["gone", "empty"])
async def test_a_file_that_is_being_replaced_does_not_cost_the_old_token(tmp_path, state):
    path, clock = tmp_path / "token", StillClock()
    path.write_text("one")
    source = TokenFile(path, clock)
    first = await source.credential()
    path.unlink() if state == "gone" else path.write_text("")

    clock.move(100)
    assert await source.credential() is first


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(None, "No such file or directory"), (b"", "it is empty"), (b"\xff\xfe", "it is not text")],
)
async def test_a_token_file_that_cannot_be_used_is_a_sentence(tmp_path, content, sentence):
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(AuthError, match=f"token file {path} cannot be used: {sentence}"):
        await TokenFile(path, StillClock()).credential()


async def test_a_fixed_credential_is_all_there_is():
    fixed = Credential("abc")

    assert await Fixed(fixed).credential(rejected=fixed) is fixed


def test_a_credential_never_shows_itself():
    shown = repr(Credential("tok-123", b"cert-123", b"key-123"))

    assert "123" not in shown
