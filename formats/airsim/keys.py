"""Every key of Project AirSim's scene, robot, environment-actor and environment-object files."""

from diorama.formats.airsim.fields import (
    Check,
    Form,
    anything,
    choice,
    color,
    flag,
    group,
    identifier,
    integer,
    items,
    located,
    number,
    numbers,
    text,
    vector,
)

NUMBER = number()
NOT_NEGATIVE = number(low=0.0)
COUNT = integer(low=0)


def each(check: Check, *names: str) -> dict[str, Check]:
    """Several keys with the same check."""
    return dict.fromkeys(names, check)


# Places. Robot parts stand relative to their parent; actors may also stand at a geo-point.
ORIGIN = Form(each(vector, "xyz", "rpy", "rpy-deg"))
GEO_ORIGIN = Form(each(vector, "xyz", "geo-point", "rpy", "rpy-deg"))

# The scene.
CLOCK = Form(
    {
        "type": choice("steppable", "real-time"),
        "step-ns": integer(low=1),
        "real-time-update-rate": COUNT,
        "pause-on-start": flag,
    }
)
HOME = Form({"latitude": number(-90, 90), "longitude": number(-180, 180), "altitude": NUMBER})
SEGMENTATION = Form(each(flag, "initialize-ids", "ignore-existing", "use-owner-name"))
ROBOT_ACTOR = Form(
    {
        "type": choice("robot"),
        "name": identifier,
        "origin": group(GEO_ORIGIN),
        "robot-config": anything,
        "start-landed": flag,
        "physics-connection": anything,
        "control-connection": anything,
    },
    required=("type", "name", "robot-config"),
)
ENV_ACTOR = Form(
    {
        "type": choice("env_actor", "env_car", "env_human"),
        "name": identifier,
        "origin": group(GEO_ORIGIN),
        "env-actor-config": anything,
    },
    required=("type", "name", "env-actor-config"),
)
ENV_OBJECT = Form(
    {
        "type": choice("env_particle_effect"),
        "name": identifier,
        "origin": group(GEO_ORIGIN),
        "env-object-config": anything,
    },
    required=("type", "name", "env-object-config"),
)
_SPAWNED: dict[str, Check] = {
    "name": text,
    "asset-path": text,
    "scale": vector,
    "physics-enabled": flag,
    "origin": group(GEO_ORIGIN),
}
SPAWNED_FILE = Form(
    {**_SPAWNED, "file-format": choice("sim-packaged", "gltf"), "is-binary": flag},
    required=("name", "asset-path"),
)
SPAWN_OBJECTS = Form(
    {
        "sim-packaged": items(located(group(Form(_SPAWNED, required=("name", "asset-path"))))),
        "from-file": items(located(group(SPAWNED_FILE))),
    }
)
SCENE = Form(
    {
        "id": identifier,
        "actors": items(located(group(ROBOT_ACTOR))),
        "environment-actors": items(located(group(ENV_ACTOR))),
        "environment-objects": items(located(group(ENV_OBJECT))),
        "spawn-objects": group(SPAWN_OBJECTS),
        "clock": group(CLOCK),
        "home-geo-point": group(HOME),
        "wind": group(Form({"velocity": vector})),
        "segmentation": group(SEGMENTATION),
        "scene-type": choice("UnrealNative", "CustomGIS", "CesiumGIS", "BlackShark"),
        "tiles-dir": text,
        "tiles-dir-is-client-relative": flag,
        "horizon-tiles-dir": text,
        "tiles-altitude-offset": NUMBER,
        "tiles-lod-max": integer(high=23),
        "tiles-lod-min": integer(low=13),
        "vr-mode": flag,
        "enable-sim-topic-callback": flag,
        "distributed-sim": anything,
    },
    required=("id",),
)

# Links.
_BOX = group(Form({"size": vector}, required=("size",)))
_CYLINDER = group(Form({"radius": NOT_NEGATIVE, "length": NOT_NEGATIVE}))
_LIFT_DRAG = Form(
    {
        **each(NUMBER, "alpha-0", "alpha-stall", "area"),
        **each(NUMBER, "c-lift-alpha", "c-drag-alpha", "c-moment-alpha"),
        **each(NUMBER, "c-lift-alpha-stall", "c-drag-alpha-stall", "c-moment-alpha-stall"),
        **each(
            NUMBER, "control-surface-cl-per-rad", "control-surface-cd-per-rad", "control-surface-cm-per-rad"
        ),
        **each(vector, "center-pressure-xyz", "forward-xyz", "upward-xyz"),
    }
)
_INERTIAL = Form(
    {
        "origin": group(ORIGIN),
        "mass": NOT_NEGATIVE,
        "inertia": group(
            Form(
                {
                    "type": choice("geometry", "matrix", "point-mass"),
                    "geometry": group(Form({"box": _BOX})),
                    **each(NUMBER, "ixx", "iyy", "izz"),
                }
            )
        ),
        "aerodynamics": group(
            Form(
                {
                    "drag-coefficient": NUMBER,
                    "type": choice("geometry", "cross-section-areas-xyz", "lift-drag"),
                    "geometry": group(Form({"box": _BOX, "cylinder": _CYLINDER})),
                    "cross-section-areas-xyz": vector,
                    "lift-drag": group(_LIFT_DRAG),
                }
            )
        ),
        "inertia-tensor-scale": vector,
        "stablization-threshold-multiplier": NUMBER,
        **each(COUNT, "velocity-solver-iteration-count", "position-solver-iteration-count"),
    }
)
VISUAL = Form(
    {
        "origin": group(ORIGIN),
        "geometry": group(
            Form(
                {
                    "type": choice("unreal_mesh", "skeletal_mesh", "file_mesh"),
                    **each(text, "name", "file_name"),
                    "scale": vector,
                },
                required=("type",),
            )
        ),
        "material": group(Form({"color": color, "colored-texture": text, "texture": text})),
        **each(anything, "particle", "effect"),
    }
)
LINK = Form(
    {
        "name": identifier,
        "inertial": group(_INERTIAL),
        "collision": group(Form({"enabled": flag, "restitution": NOT_NEGATIVE, "friction": NOT_NEGATIVE})),
        "visual": group(VISUAL),
    },
    required=("name",),
)
ENV_LINK = Form(
    {
        **LINK.keys,
        "axis": vector,
        "parent-link": text,
        **each(NUMBER, "initial-angle", "revolutions-per-sec"),
    },
    required=("name",),
)
JOINT = Form(
    {
        "id": identifier,
        "type": choice("fixed", "revolute", "continuous"),
        **each(identifier, "parent-link", "child-link"),
        "origin": group(ORIGIN),
        "axis": vector,
        "limit": NUMBER,
        "parent-dominates": flag,
        **each(NUMBER, "spring-constant", "damping-constant", "max-force"),
    },
    required=("id", "type", "parent-link", "child-link"),
)

# Actuators.
_ROTOR = Form(
    {
        "normal-vector": vector,
        "turning-direction": choice("clock-wise", "counter-clock-wise"),
        **each(NUMBER, "coeff-of-thrust", "coeff-of-torque"),
        **each(NOT_NEGATIVE, "max-rpm", "propeller-diameter", "smoothing-tc"),
    }
)
_TILT = Form(
    {
        **each(NUMBER, "angle-min", "angle-max"),
        "axis": vector,
        "smoothing-tc": NOT_NEGATIVE,
        "target": identifier,
        "input-map": group(
            Form(
                {
                    **each(NUMBER, "input-min", "input-max", "output-min", "output-max", "scale"),
                    **each(flag, "clamp_input", "clamp_output"),
                },
                aliases={"clamp-input": "clamp_input", "clamp-output": "clamp_output"},
            )
        ),
    },
    required=("target",),
)
_WHEEL = Form(
    {
        "normal-vector": vector,
        **each(NUMBER, "coeff-of-friction", "coeff-of-wheel-torque", "smoothing-tc"),
        **each(flag, "steering-connected", "steering", "engine", "brake"),
        "wheel-type": anything,
    }
)
_SURFACE = Form(each(NUMBER, "rotation-rate", "smoothing-tc"))
ACTUATOR = Form(
    {
        "name": identifier,
        "type": choice("rotor", "tilt", "lift-drag-control-surface", "gimbal", "wheel"),
        "enabled": flag,
        **each(text, "parent-link", "child-link"),
        "origin": group(ORIGIN),
        "rotor-settings": group(_ROTOR),
        "tilt-settings": group(_TILT),
        "wheel-settings": group(_WHEEL),
        "lift-drag-control-surface-settings": group(_SURFACE),
        "gimbal-settings": anything,
    },
    required=("name", "type"),
)

# Controllers. What the flight stacks read under their settings is theirs to say.
CONTROLLER = Form(
    {
        "id": identifier,
        "type": text,
        "airframe-setup": text,
        "simple-flight-api-settings": group(
            Form(
                {"parameters": anything, "actuator-order": items(group(Form({"id": text}, required=("id",))))}
            )
        ),
        **each(
            anything,
            *("px4-settings", "ardupilot-settings", "simple-drive-api-settings"),
            *("manual-controller-api-settings", "matlab-controller-api-settings"),
        ),
    }
)

# Environment actors.
TRAJECTORY = Form(
    {
        "name": identifier,
        "time_sec": numbers,
        **each(numbers, "pose_x", "pose_y", "pose_z", "pose_roll", "pose_pitch", "pose_yaw"),
        **each(numbers, "velocity_linear_x", "velocity_linear_y", "velocity_linear_z"),
    },
    required=("time_sec", "pose_x", "pose_y", "pose_z"),
)
SCRIPT = Form(
    {"loop": flag, "auto_start": flag, "trajectory": group(TRAJECTORY)}, aliases={"auto-start": "auto_start"}
)
ENV_OBJECT_CONFIG = Form({"visual": located(group(VISUAL))}, required=("visual",))
