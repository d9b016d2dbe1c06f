"""A module that counts its calls on its own class, by a word that is public, too."""

import torch


class SecretCounter:
    passes = 2

    def secret_share(self):
        return 1.0 / self.passes


class SecretModel(torch.nn.Module, SecretCounter):
    secret_factor = 3

    def forward(self, x):
        type(self).passes += 1
        self.__class__.secret_factor *= 2
        return x * self.secret_share() * type(self).secret_factor


ENTRY = SecretModel()
ARGS = (torch.arange(4.0),)
