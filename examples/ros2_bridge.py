"""A sketch of a bridge to ROS 2: every entity a transform on /tf, in ENU as REP 103 wants. Runs where rclpy exists.

Start `diorama demo`, source your ROS 2 installation, run this, then look at `ros2 run tf2_ros tf2_monitor` or RViz.
"""

import sys

import diorama

try:
    import rclpy
    from geometry_msgs.msg import TransformStamped
    from tf2_ros import TransformBroadcaster
except ImportError as error:
    sys.exit(f"this needs a ROS 2 installation (source its setup.bash first): {error}")

rclpy.init()
broadcaster = TransformBroadcaster(rclpy.create_node("diorama"))
with diorama.Replica(sys.argv[1] if len(sys.argv) > 1 else "tcp://127.0.0.1:5555", axes="enu") as replica:
    for update in replica:
        poses = replica.poses(update.changed)
        for entity, at, turn in zip(update.changed.tolist(), poses.position, poses.orientation, strict=True):
            message = TransformStamped()
            message.header.frame_id, message.child_frame_id = "map", replica.world.name(entity)
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(update.time_ns, 1_000_000_000)
            place, rotation = message.transform.translation, message.transform.rotation
            place.x, place.y, place.z = at.tolist()
            rotation.x, rotation.y, rotation.z, rotation.w = turn.tolist()
            broadcaster.sendTransform(message)
