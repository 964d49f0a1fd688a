"""The web dashboard: Streamlit pages over the store, served on loopback behind a guard."""
