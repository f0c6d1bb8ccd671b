# SPDX-License-Identifier: Apache-2.0
"""One trial of a search, in PyTorch: which of two rings is a point on? No line parts them, so a network of Identity guesses."""
import edl
import torch

torch.manual_seed(1)
labels = torch.arange(512) % 2
angles = torch.rand(512) * 6.2832
points = torch.stack([angles.cos(), angles.sin()], 1) * (1 + labels[:, None]) + torch.randn(512, 2) * 0.2

trial = edl.trial(lr=0.01, width=16, unit="ReLU")
model = torch.nn.Sequential(torch.nn.Linear(2, trial.width), getattr(torch.nn, trial.unit)(), torch.nn.Linear(trial.width, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=trial.lr)
kept = edl.load_checkpoint()
if kept is not None:
    model.load_state_dict(kept.tree["model"])
    optimizer.load_state_dict(kept.tree["optimizer"])
for epoch in range(kept.status.next() if kept is not None else 0, int(trial.until or 27)):
    for part in torch.randperm(384).split(32):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(points[part]), labels[part]).backward()
        optimizer.step()
    right = (model(points[384:]).argmax(1) == labels[384:]).float().mean().item()
    edl.save_checkpoint({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, edl.TrainStatus(epoch))
    print(f"epoch {epoch + 1}: accuracy {right:.3f}", flush=True)
    edl.progress({"epoch": epoch + 1, "accuracy": right})
