"""A world as a USD stage. The only home of pxr.

hierarchy     an Xform for each entity, named after it; effectors and sensors too
axes          Z up, metres: the stage is east-north-up, bodies forward-left-up
assets        a reference where the asset is a USD file, an attribute otherwise
cameras       a UsdGeom.Camera under every sensor that is one
bounds        a box of purpose `guide`, so that there is something to see
place         origin and ellipsoid in the stage's customLayerData, coordinates in each root's customData
"""

import re
from collections.abc import Mapping
from math import radians, tan
from pathlib import Path
from typing import Any

import numpy as np

from diorama.ecs import Bounds, Classification, Entity, Sensor, World, locate, propagate
from diorama.geo.axes import ENU
from diorama.schemas.errors import DioramaError, missing_extra

try:
    from pxr import Gf, Kind, Sdf, Usd, UsdGeom, Vt
except ImportError:
    missing_extra("usd", "writing USD")

USD_SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
ROOT = "/World"
APERTURE = 20.955  # mm, USD's usual
# A body looks along +x with z up; a USD camera looks along -z with y up.
BODY_FROM_CAMERA = Gf.Quatd(0.5, 0.5, -0.5, -0.5)


def write_stage(world: World, path: str | Path) -> None:
    """Write a world to `.usda` (text), `.usdc` (binary) or `.usd`."""
    if world.propagated_epoch != world.epoch:
        propagate(world)
    target = str(path)
    if not target.endswith(USD_SUFFIXES[:3]):
        raise DioramaError(f"{path}: expected a name ending in .usd, .usda or .usdc")
    layer = Sdf.Layer.CreateAnonymous(".usda")
    stage = Usd.Stage.Open(layer)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    root = UsdGeom.Xform.Define(stage, ROOT)
    Usd.ModelAPI(root.GetPrim()).SetKind(Kind.Tokens.assembly)
    stage.SetDefaultPrim(root.GetPrim())
    layer.customLayerData = _scene_data(world)
    paths: dict[Entity, Any] = {}
    taken: dict[Any, set[str]] = {}
    for entity in world.entities.tolist():  # parents first
        parent = world.parent(entity)
        above = Sdf.Path(ROOT) if parent is None else paths[parent]
        paths[entity] = above.AppendChild(_prim_name(world.name(entity), taken.setdefault(above, set())))
        _write_entity(stage, world, entity, paths[entity], is_root=parent is None)
    del root, stage  # while one looks on, it opens every reference at once, from wherever we are
    for entity, place in paths.items():
        if world.asset(entity).lower().endswith(USD_SUFFIXES):
            layer.GetPrimAtPath(place).referenceList.Prepend(Sdf.Reference(world.asset(entity)))
    if not layer.Export(target):
        raise DioramaError(f"{path}: cannot be written")


def _write_entity(stage: Any, world: World, entity: Entity, path: Any, *, is_root: bool) -> None:
    xform = UsdGeom.Xform.Define(stage, path)
    prim = xform.GetPrim()
    local = world.table.local[world.row(entity)]
    axes = ENU if is_root else ENU.child
    position, scale = axes.points(local[0:3]), axes.scales(local[7:10])
    x, y, z, w = axes.rotations(local[3:7]).tolist()
    xform.AddTranslateOp().Set(Gf.Vec3d(*position.tolist()))
    xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Quatd(w, x, y, z))
    if not np.array_equal(scale, (1.0, 1.0, 1.0)):
        xform.AddScaleOp().Set(Gf.Vec3f(*scale.tolist()))
    prim.SetDisplayName(world.name(entity))
    prim.SetCustomDataByKey("diorama", _entity_data(world, entity))
    asset = world.asset(entity)
    if asset and not asset.lower().endswith(USD_SUFFIXES):
        prim.CreateAttribute("diorama:asset", Sdf.ValueTypeNames.String).Set(asset)
    sensor, bounds = world.try_get(entity, Sensor), world.try_get(entity, Bounds)
    if sensor is not None and "camera" in sensor.type.lower():
        _write_camera(stage, path.AppendChild("camera"), sensor.parameters)
    if bounds is not None:
        _write_bounds(stage, path.AppendChild("bounds"), bounds)


def _write_camera(stage: Any, path: Any, parameters: Mapping[str, Any]) -> None:
    camera = UsdGeom.Camera.Define(stage, path)
    inner = parameters.get("RGBCamera", parameters)
    fov = float(inner.get("fov", 90.0) or 90.0)
    size = inner.get("resolution", {})
    width, height = (size.get("x", 16), size.get("y", 9)) if isinstance(size, Mapping) else (*size, 16, 9)[:2]
    camera.CreateHorizontalApertureAttr(APERTURE)
    camera.CreateVerticalApertureAttr(APERTURE * float(height) / float(width))
    camera.CreateFocalLengthAttr(0.5 * APERTURE / tan(0.5 * radians(min(max(fov, 1.0), 170.0))))
    near, far = float(inner.get("near_clip", 0.1)), float(inner.get("far_clip", 10_000.0))
    camera.CreateClippingRangeAttr(Gf.Vec2f(near, far))
    camera.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(BODY_FROM_CAMERA)


def _write_bounds(stage: Any, path: Any, bounds: Bounds) -> None:
    """A cube from -½ to ½, placed and stretched."""
    cube = UsdGeom.Cube.Define(stage, path)
    cube.CreateSizeAttr(1.0)
    cube.CreateExtentAttr(Vt.Vec3fArray([Gf.Vec3f(-0.5), Gf.Vec3f(0.5)]))
    cube.CreatePurposeAttr(UsdGeom.Tokens.guide)
    child = ENU.child
    cube.AddTranslateOp().Set(Gf.Vec3d(*child.points(bounds.center).tolist()))
    cube.AddScaleOp().Set(Gf.Vec3f(*child.scales(bounds.size).tolist()))


def _scene_data(world: World) -> dict[str, Any]:
    told: dict[str, Any] = {"axes": "east-north-up", "body_axes": "forward-left-up"}
    if world.origin is not None:
        latitude, longitude, altitude = world.origin.lla
        told |= {
            "latitude_deg": float(latitude),
            "longitude_deg": float(longitude),
            "altitude": float(altitude),
            "equatorial_radius": world.origin.ellipsoid.equatorial_radius,
            "flattening": world.origin.ellipsoid.flattening,
        }
    return {"diorama": told}


def _entity_data(world: World, entity: Entity) -> dict[str, Any]:
    told: dict[str, Any] = {"id": world.key(entity), "name": world.name(entity)}
    labelled, sensor = world.try_get(entity, Classification), world.try_get(entity, Sensor)
    if labelled is not None:
        told["label"] = labelled.label
        if labelled.segmentation_id is not None:
            told["segmentation_id"] = labelled.segmentation_id
    if sensor is not None:
        told["sensor_type"] = sensor.type
    if world.origin is not None and world.parent(entity) is None:
        latitude, longitude, altitude = locate(world, [world.row(entity)]).lla[0].tolist()
        told |= {"latitude_deg": latitude, "longitude_deg": longitude, "altitude": altitude}
    return told


def _prim_name(name: str, taken: set[str]) -> str:
    """A name USD allows, unique among siblings: the last part of a path-like name, other letters as underscores."""
    short = re.sub(r"[^A-Za-z0-9_]", "_", name.rpartition("/")[2] or name) or "entity"
    wanted = f"_{short}" if short[0].isdigit() else short
    reserved = {"camera", "bounds"}
    number, found = 1, wanted
    while found in taken or found in reserved:
        number += 1
        found = f"{wanted}_{number}"
    taken.add(found)
    return found
