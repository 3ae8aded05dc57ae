"""Looking at it: the 3-D viewer, static pictures, print figures and the HTML report."""
