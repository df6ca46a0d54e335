"""The solvers, in folders by kind; ``registry.py`` names them."""
