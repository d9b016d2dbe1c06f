"""A reduced program as a core developer of PyTorch writes it: flat statements and one comparison.

`reporter.verify` may import it: `script`, `text`, `values`, `function` and `neighbours`;
`dynamic_shapes` also `reporter.reduce` and `reporter.core`. It imports `graph`, and never runs
anything: which of the forms still shows the failure is for fresh processes to say.
"""
