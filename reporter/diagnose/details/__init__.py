"""What else there is to say of a finding: the pass or operator at fault, where values part, graph
breaks, guards.

Rooms above may import it; `diagnosis_details` collects it all for one call. What reaches the
verdict never imports it.
"""
