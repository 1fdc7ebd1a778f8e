"""Products of two arrays: the result's chunking, all ways to make it, and the plan that comes of it."""

from tpufft.planning.products.plan import ProductPlan
from tpufft.planning.products.request import ProductRequest, check_schedule
from tpufft.planning.products.rule import product_spec

__all__ = ["ProductPlan", "ProductRequest", "check_schedule", "product_spec"]
