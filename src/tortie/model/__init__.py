"""The words: addresses, resources, keys and selectors in Calico's formats. Imports nothing of ours."""
