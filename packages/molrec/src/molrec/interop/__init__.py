"""Adapters to other libraries, each an optional extra that is imported only when its module is used."""
