"""What a call meets: the socket of layers, checks of arguments, guards, watchers, the words for a refusal."""
