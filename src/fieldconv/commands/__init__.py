"""What `fieldconv` does on the command line, by area. No module here loads torch until it must."""
