"""Measures: numbers of a forecast table, and what they declare about themselves."""
