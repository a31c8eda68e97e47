"""The consumer: leases tasks, executes them within its slots, and reports every outcome.

    leasing -> held -> execution -> reporting

Each arrow is one call, each step one module; `worker` puts them together and takes them apart in good order.
"""
