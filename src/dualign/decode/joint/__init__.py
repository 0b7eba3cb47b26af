"""Two directional models, one joint alignment, proved optimal (Chang, Rush, DeNero & Collins 2014)."""
