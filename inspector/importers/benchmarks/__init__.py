"""Result files of benchmarks and evaluation frameworks."""
