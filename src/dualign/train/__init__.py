"""The former name of `dualign.learn`, for programs that import `dualign.train.constraints`."""
