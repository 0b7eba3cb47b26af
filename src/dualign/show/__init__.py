"""What people look at: the viewer, figures, pairs on the terminal and in notebooks, the page about a run."""
