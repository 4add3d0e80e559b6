"""What there is: the world, its components, its columns, its tree. The only home of esper."""
