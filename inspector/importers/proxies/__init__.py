"""Log files of proxies and browsers that recorded whole HTTP exchanges."""
