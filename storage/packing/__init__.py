"""What a row holds as bytes: values packed without loss, whatever text and numbers they hold."""
