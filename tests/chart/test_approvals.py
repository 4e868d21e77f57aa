"""What the chart installs to guard approvals is what the command installs."""

from tests.chart.rendered import of_kind, template, the
from tests.support.tools import Tool

from reroll.engine import approval_objects


def test_the_chart_guards_approvals_as_the_command_does(helm: Tool) -> None:
    objects = template(helm, {"approvals": {"enabled": True}})
    policy, binding = approval_objects.policy()
    found = the(objects, "ValidatingAdmissionPolicy")
    bound = the(objects, "ValidatingAdmissionPolicyBinding")
    assert found["spec"] == policy["spec"]
    name = found["metadata"]["name"]
    assert bound["spec"] == {**binding["spec"], "policyName": name}
    for one in (found, bound):
        assert one["metadata"]["labels"]["reroll.dev/part"] == "approvals"
    roles = [
        one for one in of_kind(objects, "ClusterRole") if one["rules"] == approval_objects.RULES
    ]
    assert [one["metadata"]["name"].endswith("-approver") for one in roles] == [True]


def test_without_the_value_nothing_of_it_is_there(helm: Tool) -> None:
    assert not of_kind(template(helm, {}), "ValidatingAdmissionPolicy")
