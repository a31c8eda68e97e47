"""Where tasks come from: one module or package for each kind of queue, behind the protocol in `protocol`."""
