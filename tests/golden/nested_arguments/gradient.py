import numpy as np


def nested_arguments_vjp(tree_a, tree_nested_0, tree_nested_1_0, x):
    # return tree["a"] * np.sum(first) * x + np.sum(second ** 2)
    sum_tree_nested_0 = np.sum(tree_nested_0)
    t = tree_a * sum_tree_nested_0
    return (t * x + np.sum(tree_nested_1_0 ** 2), x * sum_tree_nested_0, np.full(3, x * tree_a),
            2 * tree_nested_1_0, t)
