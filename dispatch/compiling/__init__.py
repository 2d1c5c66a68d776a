"""Compiling"""
