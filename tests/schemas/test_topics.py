"""Names of topics: what is ours, what is a user's, and what a snapshot is asked in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diorama.schemas import topics
from diorama.schemas.view import VIEW

OURS = (*topics.OURS, topics.SNAPSHOT, VIEW)


@pytest.mark.parametrize("name", ["scenery", "my/clock", "clocks", "views/of/mine", "snapshots", "a"])
def test_a_name_that_only_looks_like_ours_is_free(name: str) -> None:
    assert topics.user_topic(name) == topics.user_topic(f"{name}/") == f"{name}/"


@given(own=st.sampled_from(OURS), cut=st.integers(0, 20), more=st.sampled_from(["", "x", "/", "/x"]))
def test_topics_of_users_never_meet_ours(own: str, cut: int, more: str) -> None:
    try:
        topic = topics.user_topic(own[:cut] + more)
    except ValueError:
        return
    assert topic.endswith("/")
    assert not any(topic.startswith(other) or other.startswith(topic) for other in OURS)


@pytest.mark.parametrize("own", OURS)
def test_ours_and_what_is_above_and_below_them_is_refused(own: str) -> None:
    for name in (own, own.removesuffix("/"), f"{own}more", own[: own.index("/")]):
        with pytest.raises(ValueError, match="is taken by diorama"):
            topics.user_topic(name)


def test_no_topic_of_ours_is_a_prefix_of_another() -> None:
    assert not any(one.startswith(two) for one in OURS for two in OURS if one != two)


def test_snapshot_topics_say_their_encoding() -> None:
    assert topics.encoding_of_snapshot(topics.snapshot("local", "abc.0")) == "local"
    for wrong in (
        "snapshot/",
        "snapshot/nothing/abc/",
        "snapshot/local//",
        "snapshot/local/a/b",
        "snapshot/local/a/b/",
        "scene/local/",
    ):
        assert topics.encoding_of_snapshot(wrong) is None
