"""Volumes in a bucket, beside local ones and restic: scripts/bench-remote."""
