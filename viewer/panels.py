"""The panels beside the scene as HTML: the tree of entities, what is selected, the status line.

A click on anything with `data-do` reaches Python through a text field that no one sees: a panel of the page is a
text field followed by the HTML, and the HTML writes what was clicked into it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from diorama.ecs import Bounds, Classification, Effector, Entity, Sensor, Transform, Velocity, World, locate
from diorama.geo import rpy_from_quaternion

# Puts a text into the field in front of the panel, as if it had been typed; the time makes every click a new text.
SEND = (
    "const i=this.parentElement.previousElementSibling.querySelector('input');"
    "Object.getOwnPropertyDescriptor(HTMLInputElement.prototype,'value').set.call(i,say+' '+Date.now());"
    "i.dispatchEvent(new Event('input',{bubbles:true}));"
)
ON_CLICK = (
    "const t=event.target.closest('[data-do]');if(!t)return;event.preventDefault();const say=t.dataset.do;"
    + SEND
)
# Where the pointer is on the map, in its own pixels.
AT = (
    "const b=this.querySelector('svg').getBoundingClientRect(),v=this.querySelector('svg').viewBox.baseVal,"
    "x=Math.round((event.clientX-b.left)*v.width/b.width),y=Math.round((event.clientY-b.top)*v.height/b.height);"
)
ON_WHEEL = f"event.preventDefault();{AT}const say='zoom '+(event.deltaY<0?1.5:0.667)+' '+x+' '+y;{SEND}"
ON_DOWN = f"{AT}window.dioramaFrom=[x,y];"
ON_UP = (
    f"{AT}const f=window.dioramaFrom;window.dioramaFrom=null;if(!f||Math.hypot(x-f[0],y-f[1])<4)return;"
    f"const say='pan '+(f[0]-x)+' '+(f[1]-y);{SEND}"
)
STYLE = """<style>
div:has(+ div > .dio-live){display:none}
.dio{font:13px/1.5 Inter,system-ui,sans-serif;color:#25303b;padding:2px 10px 10px}
.dio a{color:inherit;text-decoration:none;cursor:pointer}
.dio-row{display:flex;align-items:center;gap:4px;white-space:nowrap;border-radius:5px;padding:1px 4px}
.dio-row:hover{background:#eef3f9}
.dio-row.on{background:#dbe9ff;box-shadow:inset 3px 0 #2e74d6}
.dio-row.off{opacity:.4}
.dio-fold{width:14px;text-align:center;color:#7b8894;flex:none}
.dio-name{flex:1;overflow:hidden;text-overflow:ellipsis}
.dio-kind{color:#8a97a3;font-size:11px;max-width:45%;overflow:hidden;text-overflow:ellipsis}
.dio-eye{color:#9aa7b3;font-size:11px;flex:none;width:16px;text-align:center}
.dio-more{color:#8a97a3;padding-left:24px;font-style:italic}
.dio h2{font-size:15px;margin:4px 0 0;overflow-wrap:anywhere}
.dio small{color:#7b8894}
.dio table{width:100%;border-collapse:collapse;margin:4px 0 8px}
.dio td{padding:1px 0;vertical-align:top;font-variant-numeric:tabular-nums}
.dio td:first-child{color:#7b8894;width:84px}
.dio td.n{text-align:right}
.dio h3{font-size:11px;letter-spacing:.06em;text-transform:uppercase;color:#7b8894;margin:8px 0 0;
  border-bottom:1px solid #e3e9ef}
.dio-status{display:flex;flex-wrap:wrap;gap:2px 14px;font-variant-numeric:tabular-nums;padding-top:6px}
.dio-status b{font-weight:600}
.dio-status span{white-space:nowrap}
.dio-buttons{display:flex;gap:4px;padding:4px 0}
.dio-buttons a{flex:1;text-align:center;border:1px solid #c9d6e4;border-radius:4px;color:#2e74d6;font-size:12px}
.dio-buttons a:hover{background:#eef3f9}
.dio-bad{color:#c8372d}.dio-good{color:#1f8a4c}
</style>"""
MOST_CHILDREN = 150
MOST_FOUND = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What the status line says."""

    endpoint: str
    state: str = "connecting"
    time_s: float = 0.0
    tick: int = 0
    rate: float = 0.0
    factor: float = 0.0
    dropped: int = 0
    entities: int = 0


def status_html(status: Status) -> str:
    """Sim time, tick, rate, real-time factor, dropped updates."""
    good = status.state == "live"
    minutes, seconds = divmod(status.time_s, 60.0)
    state = f"class='{'dio-good' if good else 'dio-bad'}' title='{escape(status.endpoint, quote=True)}'"
    parts = [
        f"<span {state}>● <b>{escape(status.state)}</b></span>",
        f"<span title='simulation time'><b>{int(minutes):02d}:{seconds:05.2f}</b></span>",
        f"<span>tick <b>{status.tick}</b></span>",
        f"<span title='updates a second'><b>{status.rate:.0f}</b> Hz</span>",
        f"<span title='simulated over wall time'><b>{status.factor:.2f}</b> × real time</span>",
        f"<span class='{'dio-bad' if status.dropped else ''}'><b>{status.dropped}</b> dropped</span>",
        f"<span><b>{status.entities}</b> entities</span>",
    ]
    return f"{STYLE}<div class='dio'><div class='dio-status'>{''.join(parts)}</div></div>"


def tree_html(
    world: World,
    *,
    search: str = "",
    opened: Collection[Entity] = (),
    hidden: Collection[Entity] = (),
    selected: Entity | None = None,
) -> str:
    """The tree of entities: folded below what is not in `opened`, or flat and only what is searched for."""
    rows: list[str] = []
    if search:
        words = search.lower().split()
        named = sorted(
            (name, entity) for name, entity in world.names.items() if all(w in name.lower() for w in words)
        )
        rows += [
            _row(world, entity, 0, opened, hidden, selected, flat=True) for _, entity in named[:MOST_FOUND]
        ]
        rows.append(_more(len(named) - MOST_FOUND, "match; search for more letters"))
        if not named:
            rows.append("<div class='dio-more'>nothing has that in its name</div>")
    else:
        roots = [entity for entity in world.entities.tolist() if world.parent(entity) is None]
        _branch(world, roots, 0, opened, hidden, selected, rows)
    return f"<div class='dio dio-live' onclick=\"{ON_CLICK}\">{''.join(rows)}</div>"


def inspector_html(world: World | None, entity: Entity | None) -> str:
    """Everything about the selected entity."""
    if world is None or entity is None or not world.alive(entity):
        told = "Click something in the scene or in the tree."
        return f"<div class='dio dio-live' onclick=\"{ON_CLICK}\"><small>{told}</small></div>"
    pose = world.get(entity, Transform)
    sections = [_identity(world, entity)]
    sections.append(
        (
            "Pose" if world.parent(entity) is None else "In its parent",
            _pose(pose.position, pose.orientation, pose.scale),
        )
    )
    if world.parent(entity) is not None:
        sections.append(
            ("In the world", _pose(pose.world_position, pose.world_orientation, pose.world_scale))
        )
    sections.append(("On Earth", _place(world, entity)))
    velocity = world.try_get(entity, Velocity)
    if velocity is not None:
        speed = float(np.linalg.norm(velocity.linear))
        sections.append(
            (
                "Velocity",
                [
                    ("NED m/s", _numbers(velocity.linear, 2)),
                    ("speed", f"{speed:.2f} m/s ({speed * 3.6:.0f} km/h)"),
                ],
            )
        )
    sensor = world.try_get(entity, Sensor)
    if sensor is not None:
        sections.append(
            (f"Sensor · {sensor.type}", [(key, _plain(value)) for key, value in sensor.parameters.items()])
        )
    parts = [
        child for child in world.children(entity) if world.has(child, Effector) or world.has(child, Sensor)
    ]
    if parts:
        sections.append(("Effectors and sensors", [("", _link(world, child)) for child in parts]))
    bounds, label = world.try_get(entity, Bounds), world.try_get(entity, Classification)
    about = [("bounds", f"{' × '.join(f'{length:g}' for length in bounds.size)} m")] if bounds else []
    if label is not None:
        about.append(("class", escape(f"{label.label} ({label.segmentation_id})")))
    sections.append(("", about))
    tables = "".join(_table(title, rows) for title, rows in sections if rows)
    title = f"<h2>{escape(world.name(entity))}</h2>"
    return f"<div class='dio dio-live' onclick=\"{ON_CLICK}\">{title}{tables}</div>"


def map_html(svg: str) -> str:
    """The map with its buttons; the wheel zooms, dragging pans."""
    wanted = (
        ("+", "zoom 2"),
        ("−", "zoom 0.5"),
        ("site", "map site"),
        ("world", "map world"),
        ("here", "map selected"),
    )
    buttons = "".join(f"<a data-do='{say}'>{text}</a>" for text, say in wanted)
    return (
        f'<div class=\'dio dio-live\' onclick="{ON_CLICK}" onwheel="{ON_WHEEL}" onpointerdown="{ON_DOWN}" '
        f"onpointerup=\"{ON_UP}\"><div class='dio-buttons'>{buttons}</div>{svg}</div>"
    )


# -- inside ------------------------------------------------------------------------------------------------------


def _branch(
    world: World,
    entities: list[Entity],
    depth: int,
    opened: Collection[Entity],
    hidden: Collection[Entity],
    selected: Entity | None,
    rows: list[str],
) -> None:
    shown = entities[:MOST_CHILDREN]
    if selected in entities and selected not in shown:
        shown = [*shown, selected]
    for entity in shown:
        rows.append(_row(world, entity, depth, opened, hidden, selected))
        if entity in opened:
            _branch(world, world.children(entity), depth + 1, opened, hidden, selected, rows)
    rows.append(_more(len(entities) - MOST_CHILDREN, "here; search for a name"))


def _row(
    world: World,
    entity: Entity,
    depth: int,
    opened: Collection[Entity],
    hidden: Collection[Entity],
    selected: Entity | None,
    *,
    flat: bool = False,
) -> str:
    below = [] if flat else world.children(entity)
    fold = f"<a class='dio-fold' data-do='fold {entity}'>{'▾' if entity in opened else '▸'}</a>"
    state = " on" if entity == selected else ""
    state += " off" if entity in hidden else ""
    name = world.name(entity)
    shown = name if flat or depth == 0 else name.rpartition("/")[2] or name
    eye = "○" if entity in hidden else "◉"
    return (
        f"<div class='dio-row{state}' style='margin-left:{13 * depth}px'>"
        f"{fold if below else '<span class=dio-fold></span>'}"
        f"<a class='dio-name' data-do='select {entity}' title='{escape(name, quote=True)}'>{escape(shown)}</a>"
        f"<span class='dio-kind'>{escape(_kind(world, entity, len(below)))}</span>"
        f"<a class='dio-eye' data-do='hide {entity}' title='show or hide'>{eye}</a></div>"
    )


def _kind(world: World, entity: Entity, below: int) -> str:
    sensor = world.try_get(entity, Sensor)
    if sensor is not None:
        return sensor.type.rpartition("/")[2]
    if world.has(entity, Effector):
        return "effector"
    return world.asset(entity).rpartition("/")[2] or (f"{below}" if below else "")


def _more(count: int, where: str) -> str:
    return f"<div class='dio-more'>{count} more {where}</div>" if count > 0 else ""


def _identity(world: World, entity: Entity) -> tuple[str, list[tuple[str, str]]]:
    parent = world.parent(entity)
    rows = [("id", escape(world.key(entity)))]
    if world.asset(entity):
        rows.append(("asset", escape(world.asset(entity))))
    rows.append(("parent", _link(world, parent) if parent is not None else "—"))
    return "", rows


def _pose(position: Any, orientation: Any, scale: Any) -> list[tuple[str, str]]:
    roll, pitch, yaw = np.degrees(rpy_from_quaternion(orientation)).tolist()
    rows = [
        ("position", f"{_numbers(position, 2)} m"),
        ("roll pitch yaw", f"{_numbers((roll, pitch, yaw), 1)} °"),
        ("quaternion", _numbers(orientation, 3)),
    ]
    return rows if np.allclose(scale, 1.0) else [*rows, ("scale", _numbers(scale, 3))]


def _place(world: World, entity: Entity) -> list[tuple[str, str]]:
    if world.origin is None:
        return []
    place = locate(world, [world.row(entity)])
    (latitude, longitude, altitude), (north, east, down) = place.lla[0].tolist(), place.ned[0].tolist()
    return [
        ("NED", f"{_numbers((north, east, down), 2)} m"),
        ("latitude", f"{abs(latitude):.7f}° {'N' if latitude >= 0 else 'S'}"),
        ("longitude", f"{abs(longitude):.7f}° {'E' if longitude >= 0 else 'W'}"),
        ("altitude", f"{altitude:.2f} m above the ellipsoid"),
        ("ECEF", f"{_numbers(place.ecef[0], 2)} m"),
    ]


def _numbers(values: Iterable[float], digits: int) -> str:
    # Adding zero turns -0 into 0.
    return ", ".join(f"{round(float(value), digits) + 0.0:.{digits}f}" for value in values)


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return escape(" ".join(f"{key} {inner}" for key, inner in value.items()))
    return escape(str(value))


def _link(world: World, entity: Entity) -> str:
    return f"<a data-do='select {entity}' style='color:#2e74d6'>{escape(world.name(entity))}</a>"


def _table(title: str, rows: list[tuple[str, str]]) -> str:
    head = f"<h3>{escape(title)}</h3>" if title else ""
    cells = "".join(
        f"<tr><td>{escape(key)}</td><td>{value}</td></tr>" if key else f"<tr><td colspan=2>{value}</td></tr>"
        for key, value in rows
    )
    return f"{head}<table>{cells}</table>"
