"""What every room shares: results, errors, compilation options, threads."""
