"""The pages of the dashboard, a module each: `show()` draws one."""
