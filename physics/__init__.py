"""Composing and stepping MuJoCo scenes, and feeding them into the world (extra `mujoco`)."""
