"""What tpufft costs and how exact it is, beside what people would use instead: ``python -m benchmarks --help``."""
