"""From a plan to the customer."""
