import numpy as np


def nested_arguments_vjp(tree_a, tree_nested_0, tree_nested_1_0, x, ct):
    # return tree["a"] * np.sum(first) * x + np.sum(second ** 2)
    sum_tree_nested_0 = np.sum(tree_nested_0)
    t = tree_a * sum_tree_nested_0
    t_1 = ct * x
    return (t * x + np.sum(tree_nested_1_0 ** 2), t_1 * sum_tree_nested_0, np.full(3, t_1 * tree_a),
            2 * ct * tree_nested_1_0, ct * t)
