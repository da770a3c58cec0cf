"""What is measured: workloads, the framework adapters and the timing policy.

asv imports this package inside environments that hold one framework, NumPy and the harness; it imports nothing else
of the project.
"""
