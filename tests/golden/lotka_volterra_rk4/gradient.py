import numpy as np


def lotka_volterra_rk4_vjp(y, a, h, n, y_bar):
    h = np.float64(h)
    if not n == 4:
        return other_branch(y, a, h, n, y_bar)
    # prey, predator = y
    prey = y[0]
    predator = y[1]
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t = prey * predator
    t_1 = np.array([a * prey - t, t - predator])
    # k2 = f(y + 0.5 * h * k1)
    t_2 = 0.5 * h
    t_3 = y + t_2 * t_1
    # prey, predator = y
    prey_1 = t_3[0]
    predator_1 = t_3[1]
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_4 = prey_1 * predator_1
    t_5 = np.array([a * prey_1 - t_4, t_4 - predator_1])
    # k3 = f(y + 0.5 * h * k2)
    t_6 = y + t_2 * t_5
    # prey, predator = y
    prey_2 = t_6[0]
    predator_2 = t_6[1]
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_7 = prey_2 * predator_2
    t_8 = np.array([a * prey_2 - t_7, t_7 - predator_2])
    # k4 = f(y + h * k3)
    t_9 = y + h * t_8
    # prey, predator = y
    prey_3 = t_9[0]
    predator_3 = t_9[1]
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_10 = prey_3 * predator_3
    # y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    t_11 = h / 6
    t_12 = t_1 + 2 * t_5 + 2 * t_8 + np.array([a * prey_3 - t_10, t_10 - predator_3])
    y_1 = y + t_11 * t_12
    # prey, predator = y
    prey_4 = y_1[0]
    predator_4 = y_1[1]
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_13 = prey_4 * predator_4
    t_14 = np.array([a * prey_4 - t_13, t_13 - predator_4])
    # k2 = f(y + 0.5 * h * k1)
    t_15 = y_1 + t_2 * t_14
    # prey, predator = y
    prey_5 = t_15[0]
    predator_5 = t_15[1]
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_16 = prey_5 * predator_5
    t_17 = np.array([a * prey_5 - t_16, t_16 - predator_5])
    # k3 = f(y + 0.5 * h * k2)
    t_18 = y_1 + t_2 * t_17
    # prey, predator = y
    prey_6 = t_18[0]
    predator_6 = t_18[1]
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_19 = prey_6 * predator_6
    t_20 = np.array([a * prey_6 - t_19, t_19 - predator_6])
    # k4 = f(y + h * k3)
    t_21 = y_1 + h * t_20
    # prey, predator = y
    prey_7 = t_21[0]
    predator_7 = t_21[1]
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_22 = prey_7 * predator_7
    # y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    t_23 = t_14 + 2 * t_17 + 2 * t_20 + np.array([a * prey_7 - t_22, t_22 - predator_7])
    y_2 = y_1 + t_11 * t_23
    # prey, predator = y
    prey_8 = y_2[0]
    predator_8 = y_2[1]
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_24 = prey_8 * predator_8
    t_25 = np.array([a * prey_8 - t_24, t_24 - predator_8])
    # k2 = f(y + 0.5 * h * k1)
    t_26 = y_2 + t_2 * t_25
    # prey, predator = y
    prey_9 = t_26[0]
    predator_9 = t_26[1]
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_27 = prey_9 * predator_9
    t_28 = np.array([a * prey_9 - t_27, t_27 - predator_9])
    # k3 = f(y + 0.5 * h * k2)
    t_29 = y_2 + t_2 * t_28
    # prey, predator = y
    prey_10 = t_29[0]
    predator_10 = t_29[1]
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_30 = prey_10 * predator_10
    t_31 = np.array([a * prey_10 - t_30, t_30 - predator_10])
    # k4 = f(y + h * k3)
    t_32 = y_2 + h * t_31
    # prey, predator = y
    prey_11 = t_32[0]
    predator_11 = t_32[1]
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_33 = prey_11 * predator_11
    # y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    t_34 = t_25 + 2 * t_28 + 2 * t_31 + np.array([a * prey_11 - t_33, t_33 - predator_11])
    y_3 = y_2 + t_11 * t_34
    # prey, predator = y
    prey_12 = y_3[0]
    predator_12 = y_3[1]
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_35 = prey_12 * predator_12
    t_36 = np.array([a * prey_12 - t_35, t_35 - predator_12])
    # k2 = f(y + 0.5 * h * k1)
    t_37 = y_3 + t_2 * t_36
    # prey, predator = y
    prey_13 = t_37[0]
    predator_13 = t_37[1]
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_38 = prey_13 * predator_13
    t_39 = np.array([a * prey_13 - t_38, t_38 - predator_13])
    # k3 = f(y + 0.5 * h * k2)
    t_40 = y_3 + t_2 * t_39
    # prey, predator = y
    prey_14 = t_40[0]
    predator_14 = t_40[1]
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_41 = prey_14 * predator_14
    t_42 = np.array([a * prey_14 - t_41, t_41 - predator_14])
    # k4 = f(y + h * k3)
    t_43 = y_3 + h * t_42
    # prey, predator = y
    prey_15 = t_43[0]
    predator_15 = t_43[1]
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_44 = prey_15 * predator_15
    # y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    t_45 = t_36 + 2 * t_39 + 2 * t_42 + np.array([a * prey_15 - t_44, t_44 - predator_15])
    t_46 = y_bar * h
    t_47 = t_46 / 6
    t_48 = 2 * t_46 / 6
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_470 = t_47[0]
    t_471 = t_47[1]
    t_49 = t_471 - t_470
    # prey, predator = y
    t_50 = np.array([t_49 * predator_15 + t_470 * a, t_49 * prey_15 - t_471])
    # k4 = f(y + h * k3)
    t_51 = t_48 + t_50 * h
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_510 = t_51[0]
    t_511 = t_51[1]
    t_52 = t_511 - t_510
    # prey, predator = y
    t_53 = np.array([t_52 * predator_14 + t_510 * a, t_52 * prey_14 - t_511])
    # k3 = f(y + 0.5 * h * k2)
    t_54 = t_48 + 0.5 * t_53 * h
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_540 = t_54[0]
    t_541 = t_54[1]
    t_55 = t_541 - t_540
    # prey, predator = y
    t_56 = np.array([t_55 * predator_13 + t_540 * a, t_55 * prey_13 - t_541])
    # k2 = f(y + 0.5 * h * k1)
    t_57 = t_47 + 0.5 * t_56 * h
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_570 = t_57[0]
    t_571 = t_57[1]
    t_58 = t_571 - t_570
    # prey, predator = y
    y_bar_1 = y_bar + t_50 + t_53 + t_56
    y_bar_1[1] += t_58 * prey_12 - t_571
    y_bar_1[0] += t_58 * predator_12 + t_570 * a
    # y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    t_59 = y_bar_1 * h
    t_60 = t_59 / 6
    t_61 = 2 * t_59 / 6
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_600 = t_60[0]
    t_601 = t_60[1]
    t_62 = t_601 - t_600
    # prey, predator = y
    t_63 = np.array([t_62 * predator_11 + t_600 * a, t_62 * prey_11 - t_601])
    # k4 = f(y + h * k3)
    t_64 = t_61 + t_63 * h
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_640 = t_64[0]
    t_641 = t_64[1]
    t_65 = t_641 - t_640
    a_bar = (t_470 * prey_15 + t_510 * prey_14 + t_540 * prey_13 + t_570 * prey_12 + t_600 * prey_11
             + t_640 * prey_10)
    # prey, predator = y
    t_66 = np.array([t_65 * predator_10 + t_640 * a, t_65 * prey_10 - t_641])
    # k3 = f(y + 0.5 * h * k2)
    t_67 = t_61 + 0.5 * t_66 * h
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_670 = t_67[0]
    t_671 = t_67[1]
    t_68 = t_671 - t_670
    # prey, predator = y
    t_69 = np.array([t_68 * predator_9 + t_670 * a, t_68 * prey_9 - t_671])
    # k2 = f(y + 0.5 * h * k1)
    t_70 = t_60 + 0.5 * t_69 * h
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_700 = t_70[0]
    t_701 = t_70[1]
    t_71 = t_701 - t_700
    # prey, predator = y
    y_bar_2 = y_bar_1 + t_63 + t_66 + t_69
    y_bar_2[1] += t_71 * prey_8 - t_701
    y_bar_2[0] += t_71 * predator_8 + t_700 * a
    # y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    t_72 = y_bar_2 * h
    t_73 = t_72 / 6
    t_74 = 2 * t_72 / 6
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_730 = t_73[0]
    t_731 = t_73[1]
    t_75 = t_731 - t_730
    # prey, predator = y
    t_76 = np.array([t_75 * predator_7 + t_730 * a, t_75 * prey_7 - t_731])
    # k4 = f(y + h * k3)
    t_77 = t_74 + t_76 * h
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_770 = t_77[0]
    t_771 = t_77[1]
    t_78 = t_771 - t_770
    # prey, predator = y
    t_79 = np.array([t_78 * predator_6 + t_770 * a, t_78 * prey_6 - t_771])
    # k3 = f(y + 0.5 * h * k2)
    t_80 = (np.sum(t_53 * t_39) + np.sum(t_56 * t_36) + np.sum(t_66 * t_28) + np.sum(t_69 * t_25)
            + np.sum(t_79 * t_17))
    t_81 = t_74 + 0.5 * t_79 * h
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_810 = t_81[0]
    t_811 = t_81[1]
    t_82 = t_811 - t_810
    a_bar_1 = (a_bar + t_670 * prey_9 + t_700 * prey_8 + t_730 * prey_7 + t_770 * prey_6
               + t_810 * prey_5)
    # prey, predator = y
    t_83 = np.array([t_82 * predator_5 + t_810 * a, t_82 * prey_5 - t_811])
    # k2 = f(y + 0.5 * h * k1)
    t_84 = t_73 + 0.5 * t_83 * h
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_840 = t_84[0]
    t_841 = t_84[1]
    t_85 = t_841 - t_840
    # prey, predator = y
    y_bar_3 = y_bar_2 + t_76 + t_79 + t_83
    y_bar_3[1] += t_85 * prey_4 - t_841
    y_bar_3[0] += t_85 * predator_4 + t_840 * a
    # y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    t_86 = y_bar_3 * h
    t_87 = t_86 / 6
    t_88 = (np.sum(y_bar * t_45) + np.sum(y_bar_1 * t_34) + np.sum(y_bar_2 * t_23)
            + np.sum(y_bar_3 * t_12))
    t_89 = 2 * t_86 / 6
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_870 = t_87[0]
    t_871 = t_87[1]
    t_90 = t_871 - t_870
    # prey, predator = y
    t_91 = np.array([t_90 * predator_3 + t_870 * a, t_90 * prey_3 - t_871])
    # k4 = f(y + h * k3)
    h_bar = (np.sum(t_50 * t_42) + np.sum(t_63 * t_31) + np.sum(t_76 * t_20) + t_88 / 6
             + np.sum(t_91 * t_8))
    t_92 = t_89 + t_91 * h
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_920 = t_92[0]
    t_921 = t_92[1]
    t_93 = t_921 - t_920
    # prey, predator = y
    t_94 = np.array([t_93 * predator_2 + t_920 * a, t_93 * prey_2 - t_921])
    # k3 = f(y + 0.5 * h * k2)
    t_95 = t_89 + 0.5 * t_94 * h
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_950 = t_95[0]
    t_951 = t_95[1]
    t_96 = t_951 - t_950
    # prey, predator = y
    t_97 = np.array([t_96 * predator_1 + t_950 * a, t_96 * prey_1 - t_951])
    # k2 = f(y + 0.5 * h * k1)
    t_98 = t_87 + 0.5 * t_97 * h
    # return np.stack([a * prey - prey * predator, prey * predator - predator])
    t_980 = t_98[0]
    t_981 = t_98[1]
    t_99 = t_981 - t_980
    a_bar_2 = (a_bar_1 + t_840 * prey_4 + t_870 * prey_3 + t_920 * prey_2 + t_950 * prey_1
               + t_980 * prey)
    # prey, predator = y
    y_bar_4 = y_bar_3 + t_91 + t_94 + t_97
    y_bar_4[1] += t_99 * prey - t_981
    y_bar_4[0] += t_99 * predator + t_980 * a
    return (y_3 + t_11 * t_45, y_bar_4, a_bar_2,
            h_bar + 0.5 * (t_80 + np.sum(t_83 * t_14) + np.sum(t_94 * t_5) + np.sum(t_97 * t_1)))


def other_branch(*args):
    raise ValueError("this code was generated for another branch of lotka_volterra_rk4_vjp")
