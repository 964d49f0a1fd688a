"""F317, F309, F314, F305: calls that the model wrote in a shape that its format does not parse."""
