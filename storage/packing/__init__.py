"""Binary formats of columns: values packed without loss, whatever texts and numbers they contain."""
