"""The packages that are compared, by the name under which they are installed, with the module that each provides."""

from __future__ import annotations

__all__ = ["LEFT_OUT", "LIBRARIES", "MODULES", "PEERS"]

MODULES = {
    "propriety": "propriety",
    "scikit-learn": "sklearn",
    "model-diagnostics": "model_diagnostics",
    "scoringrules": "scoringrules",
    "scores": "scores",
    "xskillscore": "xskillscore",
    "dcurves": "dcurves",
    "rtichoke": "rtichoke",
    "briertools": "briertools",
    "torchmetrics": "torchmetrics",
    "torch-uncertainty": "torch_uncertainty",
    "netcal": "netcal",
    "betacal": "betacal",
    "venn-abers": "venn_abers",
    "probmetrics": "probmetrics",
    "MAPIE": "mapie",
    "relplot": "relplot",
    "mcgrad": "mcgrad",
    "scikit-survival": "sksurv",
}
PEERS = tuple(name for name in MODULES if name != "propriety")
LIBRARIES = (*MODULES, "torch", "numpy", "scipy", "pandas", "polars", "xarray")
LEFT_OUT = (
    "torch-uncertainty is looked up and installed but not run: its metrics import torchvision, and the build of "
    "torchvision that is available does not load with the CPU build of torch 2.13.0."
)
