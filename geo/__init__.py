"""Where things are: arrays in, arrays out. Knows no entities. The only home of pyproj."""
