"""Eight CPU devices that cannot deadlock, 64-bit types on, and meshes of every kind."""

from __future__ import annotations

import jax
import pytest

import tpufft

tpufft.virtual_devices(8)
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.fixture(scope="session", autouse=True)
def eight_devices() -> None:
    assert jax.device_count() == 8
