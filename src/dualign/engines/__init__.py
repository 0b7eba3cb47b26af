"""Where a text is worked on: threads of this process, a graphics card, or a cluster."""
