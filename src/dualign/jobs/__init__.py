"""Whole tasks as functions: files in and out, callbacks for progress, no printing."""
