"""Worlds of every kind that a scene document can hold, for hypothesis."""

from hypothesis import strategies as st

from diorama.ecs import Bounds, Classification, Effector, Sensor, Velocity, World, propagate
from diorama.geo import Origin

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
numbers = st.floats(-1e6, 1e6)
triples = st.tuples(numbers, numbers, numbers)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
components = st.one_of(
    st.builds(Sensor, names, names, st.dictionaries(names, json_values, max_size=3)),
    st.builds(Effector, names, names),
    st.builds(Velocity, triples, triples),
    st.builds(Bounds, triples, triples),
    st.builds(Classification, names, st.none() | st.integers(0, 9)),
)


@st.composite
def worlds(draw: st.DrawFn, *, flat: bool = False) -> World:
    """Any world: named oddly, nested oddly, with effectors below sensors below effectors.

    With `flat`, no scale is zero, so that a pose can be said relative to any other.
    """
    world = World()
    if draw(st.booleans()):
        world.origin = Origin(
            draw(st.floats(-90, 90)), draw(st.floats(-180, 180)), draw(st.floats(-1e4, 1e6))
        )
    spawned: list[int] = []
    for _ in range(draw(st.integers(0, 8))):
        name, key = draw(names), draw(names)
        if name in world.names or world.find_key(key) is not None or (not name and key in world.names):
            continue
        entity = world.spawn(
            name,
            *draw(st.lists(components, max_size=3, unique_by=type)),
            asset=draw(names),
            parent=draw(st.sampled_from([None, *spawned])),
            position=draw(triples),
            orientation=draw(st.tuples(numbers, numbers, numbers, st.floats(0.1, 2.0))),
            scale=(1.0, 2.0, 0.5) if flat else draw(triples),
            key=key,
        )
        spawned.append(entity)
        if draw(st.booleans()):
            world.set_group(entity, f"raw_{draw(names)}", draw(json_values))
    if draw(st.booleans()):
        world.set_resource("weather", draw(json_values))
    propagate(world)
    return world
