"""Other people's windows: the browser page, recordings, pictures. Every file needs an extra."""
