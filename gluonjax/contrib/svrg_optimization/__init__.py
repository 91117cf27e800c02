"""Stochastic variance-reduced gradients: a module and its optimizer."""

from __future__ import annotations

from gluonjax.contrib.svrg_optimization import svrg_module, svrg_optimizer
