"""Views: values as rows and styled text runs, shared by all user interfaces."""
