"""`dualign phrases …`: one small file for each verb."""
