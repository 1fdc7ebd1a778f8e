"""What compiled programs of CPUs call through JAX's FFI: XLA's call frame, and handlers that numba compiles.

Nothing here is imported before a program needs it: numba takes half a second.
"""

SHARED_EXCHANGE = "tpufft_shared_exchange"
"""The name of the exchange's handler in compiled programs."""
