"""Two directional models, one joint alignment, proved optimal (Chang, Rush, DeNero & Collins 2014).

Reached as `dualign.decode.bidirectional`; see `dualign.decode.agreement.solve`.
"""
