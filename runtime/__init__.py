"""Time and what happens in it: load, save, step, clocks, trajectories, the running simulation."""
