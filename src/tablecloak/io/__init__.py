"""Tables in and out of files and other libraries' frames."""
