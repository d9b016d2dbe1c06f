"""Sensitivities of a dosage curve, computed in a service that runs everything in inference mode."""
import torch
from torch.func import jvp


class DoseCurve:
    def __init__(self, slope, halfway):
        self.slope = slope
        self.halfway = halfway

    def response(self, dose):
        scaled = (dose / self.halfway) ** self.slope
        return scaled / (1 + scaled)

    def closed_form(self, dose):
        scaled = (dose / self.halfway) ** self.slope
        return self.slope * scaled / (dose * (1 + scaled) ** 2)


class SensitivityService:
    def __init__(self, curve):
        self.curve = curve

    @torch.inference_mode()
    def handle(self, doses):
        value, slope = jvp(self.curve.response, (doses,), (torch.ones_like(doses),))
        return {"response": value, "slope": slope}


if __name__ == "__main__":
    curve = DoseCurve(2.0, 1.5)
    doses = torch.tensor([0.5, 1.0, 2.0, 4.0])
    answer = SensitivityService(curve).handle(doses)
    torch.testing.assert_close(answer["slope"], curve.closed_form(doses))
    print("ok")
