"""The one engine of every exact decoder: dual steps, records, stopping, certificates, branch and bound."""
