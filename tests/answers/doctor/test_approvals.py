"""What `reroll doctor` says of approvals."""

import pytest

from reroll.answers.doctor.approvals import judge
from reroll.core.model.key import Key

WEB = Key("Deployment", "shop", "web")


@pytest.mark.parametrize(
    ("asking", "guarded", "told"),
    [
        ([], None, []),
        (["ConfigMap shop/app"], True, ["ok"]),
        (["ConfigMap shop/app"], None, ["note"]),
        (["ConfigMap shop/app", "policies[0]"], False, ["problem"]),
    ],
    ids=["nobody asks", "guarded", "not looked at", "not guarded"],
)
def test_approvals_that_are_asked_for_have_to_be_guarded(
    asking: list[str], guarded: bool | None, told: list[str]
) -> None:
    found = list(judge(asking, [], guarded))
    assert [one.level.value for one in found] == told
    assert all(name in found[0].sentence for name in asking if guarded is False)


def test_without_revisions_new_pods_read_what_nobody_approved() -> None:
    *_, last = judge([str(WEB)], [WEB], guarded=True)
    assert (last.level.value, str(WEB) in last.sentence) == ("note", True)
