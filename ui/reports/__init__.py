"""Reports: values counted and put into forms that others read."""
