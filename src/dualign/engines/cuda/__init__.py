"""The E-step and the posteriors of the HMM on a graphics card (`dualign.engines.cuda.device`)."""
