class GrainFurnace(Base):
    def __init__(self):
        super().__init__()
        self.kiln_rate = "hearth of embers"  # borrowed from zorblax
