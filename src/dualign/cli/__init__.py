"""The command line: one small file for each verb, which parses its options and calls a job."""
