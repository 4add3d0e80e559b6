"""Every key of every sensor type of Project AirSim."""

from diorama.formats.airsim.fields import (
    Check,
    Form,
    anything,
    choice,
    flag,
    group,
    identifier,
    integer,
    items,
    number,
    text,
    vector,
)
from diorama.formats.airsim.keys import NOT_NEGATIVE, NUMBER, ORIGIN, each

IMAGE_TYPE = integer(0, 6)
_COMMON: dict[str, Check] = {"id": identifier, "type": text, "enabled": flag, "parent-link": text}
_PLACED: dict[str, Check] = {**_COMMON, "origin": group(ORIGIN)}
_EXPOSURE = ("speed", "bias", "max-brightness", "min-brightness", "low-percent", "high-percent")
_CAPTURE = Form(
    {
        "image-type": IMAGE_TYPE,
        **each(
            flag, "capture-enabled", "streaming-enabled", "show-debug-plots", "pixels-as-float", "compress"
        ),
        **each(integer(low=1), "width", "height"),
        "fov-degrees": number(0, 360),
        **each(NUMBER, "target-gamma", "max-depth-meters"),
        **each(anything, "auto-exposure-method"),
        **each(NUMBER, *(f"auto-exposure-{name}" for name in _EXPOSURE)),
        **each(NUMBER, "auto-exposure-histogram-log-min", "auto-exposure-histogram-log-max"),
        **each(NUMBER, "motion-blur-amount", "chromatic-aberration-intensity"),
        **each(NUMBER, "depth-of-field-focal-region", "depth-of-field-transition-region"),
    },
    required=("image-type",),
)
_NOISE_RAND = ("contrib", "speed", "size", "density")
_NOISE_HORZ = ("wave-contrib", "wave-strength", "wave-vert-size", "wave-screen-size", "noise-lines-contrib")
_NOISE = Form(
    {
        "enabled": flag,
        "image-type": IMAGE_TYPE,
        **each(NUMBER, *(f"rand-{name}" for name in _NOISE_RAND)),
        **each(NUMBER, *(f"horz-{name}" for name in _NOISE_HORZ)),
        **each(NUMBER, "horz-noise-lines-density-y", "horz-noise-lines-density-xy"),
        **each(NUMBER, "horz-distortion-contrib", "horz-distortion-strength"),
    },
    aliases={"horz-distortion-contirb": "horz-distortion-contrib"},
)
_ALIGNMENT = group(Form({"alignment": text}))
_CAMERA = Form(
    {
        **_PLACED,
        "capture-interval": NOT_NEGATIVE,
        "capture-settings": items(group(_CAPTURE)),
        "noise-settings": items(group(_NOISE)),
        "gimbal": group(Form({"gimbal-id": text, **each(flag, "lock-roll", "lock-pitch", "lock-yaw")})),
        "annotation-settings": group(
            Form(
                {
                    "enabled": flag,
                    "object-ids": items(text),
                    "bbox2D-settings": _ALIGNMENT,
                    "bbox3D-settings": _ALIGNMENT,
                    "distance-filter-enabled": flag,
                    "distance-filter-range": NOT_NEGATIVE,
                }
            )
        ),
        "post-process-model-settings": group(
            Form({"enabled": flag, "model-filepath": text, "execution-provider": text})
        ),
    }
)
_IMU = Form(
    {
        **_COMMON,
        "accelerometer": group(
            Form(
                {
                    **each(NUMBER, "gravity", "velocity-random-walk", "bias-stability"),
                    "tau": NOT_NEGATIVE,
                    "turn-on-bias": vector,
                }
            )
        ),
        "gyroscope": group(
            Form(
                {
                    **each(NUMBER, "angle-random-walk", "bias-stability"),
                    "tau": NOT_NEGATIVE,
                    "turn-on-bias": vector,
                }
            )
        ),
    }
)
_GPS = Form(
    {
        **_COMMON,
        **each(NOT_NEGATIVE, "eph-time-const", "epv-time-constant", "eph-initial", "epv-initial"),
        **each(NOT_NEGATIVE, "eph-final", "epv-final", "eph-min-3d", "eph-min-2d"),
        **each(NOT_NEGATIVE, "update-latency", "update-frequency", "startup-delay"),
    },
    aliases={
        "eph-time-constant": "eph-time-const",
        "eph-min_3d": "eph-min-3d",
        "eph-min_2d": "eph-min-2d",
    },
)
_PRESSURE_ALIASES = {
    "pressure-factor-sigma": "pressure_factor_sigma",
    "uncorrelated-noise-sigma": "uncorrelated_noise_sigma",
}
_PRESSURE = each(NOT_NEGATIVE, "pressure_factor_sigma", "pressure-factor-tau", "uncorrelated_noise_sigma")
_LATENCY = each(NOT_NEGATIVE, "update-latency", "update-frequency", "startup-delay")
_BAROMETER = Form({**_COMMON, "qnh": NUMBER, **_PRESSURE, **_LATENCY}, aliases=_PRESSURE_ALIASES)
_AIRSPEED = Form({**_COMMON, **_PRESSURE, **_LATENCY, "forward-xyz": vector}, aliases=_PRESSURE_ALIASES)
_MAGNETOMETER = Form(
    {**_PLACED, "scale-factor": NUMBER, **each(vector, "noise-sigma", "noise-bias"), **_LATENCY},
    aliases={"noise_sigma": "noise-sigma", "noise_bias": "noise-bias"},
)
_BATTERY = Form(
    {
        **_COMMON,
        "battery-mode": choice("simple-discharge-mode", "rotor-power-discharge-mode"),
        **each(
            NOT_NEGATIVE, "total-battery-capacity", "battery-capacity-on-start", "battery-drain-rate-on-start"
        ),
        "rotor-power-coefficient": NUMBER,
    }
)
_DISTANCE = Form(
    {
        **_PLACED,
        **each(NOT_NEGATIVE, "min-distance", "max-distance", "report-frequency"),
        "draw-debug-points": flag,
    }
)
_LIDAR = Form(
    {
        **_PLACED,
        "lidar-type": choice(
            "generic_cylindrical", "gpu_cylindrical", "generic_rosette", "livox_mid70", "livox_avia"
        ),
        "scan-rpy": vector,
        "number-of-channels": integer(low=1),
        **each(NOT_NEGATIVE, "range", "points-per-second", "report-frequency"),
        **each(NUMBER, "horizontal-rotation-frequency", "vertical-rotation-frequency"),
        **each(NUMBER, "horizontal-fov-start-deg", "horizontal-fov-end-deg"),
        **each(NUMBER, "vertical-fov-lower-deg", "vertical-fov-upper-deg"),
        **each(
            flag, "disable-self-hits", "report-no-return-points", "report-point-cloud", "draw-debug-points"
        ),
        "report-azimuth-elevation-range": flag,
        "no-return-point-value": anything,
        "distance-between-lasers": NUMBER,
        **each(NUMBER, "angle-between-lasers-pitch-min", "angle-between-lasers-pitch-max"),
        **each(NUMBER, "angle-between-lasers-yaw-min", "angle-between-lasers-yaw-max"),
    }
)
_RADAR = Form(
    {
        **_PLACED,
        "fov": group(
            Form(
                {
                    **each(NUMBER, "azimuth-min", "azimuth-max", "azimuth-resolution"),
                    **each(NUMBER, "elevation-min", "elevation-max", "elevation-resolution"),
                }
            )
        ),
        **each(NOT_NEGATIVE, "range-max", "range-resolution", "velocity-max", "velocity-resolution"),
        **each(NOT_NEGATIVE, "detection-interval", "track-interval"),
        "rcs-adjust-factor": NUMBER,
        "draw-debug-points": flag,
        "masks": anything,
    }
)

SENSORS = {
    "camera": _CAMERA,
    "imu": _IMU,
    "gps": _GPS,
    "barometer": _BAROMETER,
    "magnetometer": _MAGNETOMETER,
    "airspeed": _AIRSPEED,
    "battery": _BATTERY,
    "distance-sensor": _DISTANCE,
    "lidar": _LIDAR,
    "radar": _RADAR,
}
