"""Files to worlds and back: a module per format."""
