"""What a sensor would say there is: detection, noise, occlusion, delay."""
