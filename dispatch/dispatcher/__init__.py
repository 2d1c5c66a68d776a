"""What a call meets beside the core: layers, checks of arguments, guards, observers, messages."""
