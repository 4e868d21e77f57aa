"""Which namespaces `reroll pins install` leaves out."""

import pytest
from tests.support.command import reroll


@pytest.mark.parametrize("names", ["A b!", "kube-system, shop*", "kube-system,-x"])
def test_a_namespace_to_leave_out_that_is_none_is_a_usage_error(names):
    result = reroll("pins", "install", "--exclude-namespaces", names, "--dry-run")

    assert result.code == 2
    assert "--exclude-namespaces" in result.err
    assert "write e.g." in result.err
