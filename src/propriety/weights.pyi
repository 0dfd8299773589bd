from propriety.rules.weights import BetaWeight as BetaWeight
from propriety.rules.weights import CustomWeight as CustomWeight
from propriety.rules.weights import LogOddsWeight as LogOddsWeight
from propriety.rules.weights import NetBenefitWeight as NetBenefitWeight
from propriety.rules.weights import PointsWeight as PointsWeight
from propriety.rules.weights import ThresholdWeight as ThresholdWeight
from propriety.rules.weights import UniformWeight as UniformWeight
