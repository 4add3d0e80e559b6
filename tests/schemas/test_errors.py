"""What errors say: the place as far as it is known, and the nearest name."""

import pytest

from diorama.schemas.errors import Problem, SceneError, did_you_mean


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem("expected text"), "expected text"),
        (Problem("expected text", "actors[2].name"), "actors[2].name: expected text"),
        (Problem("expected text", "name", "a.json", 3, 7), "a.json:3:7: name: expected text"),
        (Problem("expected text", "name", "a.json"), "a.json: name: expected text"),
        (Problem("expected text", line=3), "line 3: expected text"),
        (Problem("expected text", line=3, column=7), "line 3:7: expected text"),
    ],
)
def test_a_problem_says_where_as_far_as_it_is_known(problem: Problem, text: str) -> None:
    assert str(problem) == text


def test_a_scene_error_holds_every_problem_a_line_each() -> None:
    problems = [Problem("one", line=1), Problem("two", line=2)]
    assert SceneError(iter(problems)).problems == tuple(problems)
    assert str(SceneError(problems)) == "line 1: one\nline 2: two"
    assert SceneError("alone").problems == SceneError(Problem("alone")).problems == (Problem("alone"),)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("camra", "; did you mean 'camera'?"),
        ("rotor", "; did you mean 'evtol/effectors/rotor_front_left'?"),  # a part of a long name
        ("zzz", ""),
        ("", ""),
    ],
)
def test_the_nearest_name_is_named_or_one_that_holds_it(wrong: str, hint: str) -> None:
    assert did_you_mean(wrong, ["camera", "evtol/effectors/rotor_front_left"]) == hint
