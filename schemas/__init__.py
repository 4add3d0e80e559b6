"""What is said: errors, message types, topic names and JSON Schemas."""
