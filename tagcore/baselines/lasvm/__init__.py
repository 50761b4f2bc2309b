"""LaSVM: an online support vector machine."""
