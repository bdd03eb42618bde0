import numpy as np


def heat_step_vjp(u, r, ct):
    getitem_u = u[1:7]
    # new[1:-1] = u[1:-1] + r * (u[2:] - 2 * u[1:-1] + u[:-2])
    t = u[2:] - 2 * getitem_u + u[:6]
    t_1 = u.copy()
    t_1[1:7] = getitem_u + r * t
    getitem_ct = ct[1:7]
    u_bar = ct.copy()
    u_bar[1:7] = 0.0
    t_2 = getitem_ct * r
    u_bar[:6] += t_2
    u_bar[2:] += t_2
    u_bar[1:7] += getitem_ct - 2 * t_2
    return t_1, u_bar, np.sum(getitem_ct * t)
