"""From parameters to links."""
