"""Logs of inference servers, and answers of model APIs captured without their requests."""
