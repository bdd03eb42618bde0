import numpy as np


def lorenz_vjp(state, sigma, rho, beta, ct):
    # x, y, z = state
    x = state[0]
    y = state[1]
    z = state[2]
    # return np.stack([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])
    t = y - x
    t_1 = rho - z
    ct0 = ct[0]
    ct1 = ct[1]
    ct2 = ct[2]
    rho_bar = ct1 * x
    t_2 = ct0 * sigma
    return (np.array([sigma * t, x * t_1 - y, x * y - beta * z]),
            np.array([ct2 * y + ct1 * t_1 - t_2, ct2 * x - ct1 + t_2, -(ct2 * beta) - rho_bar]),
            ct0 * t, rho_bar, -(ct2 * z))
