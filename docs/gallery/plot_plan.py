"""
Width of intervals against the number of cases
==============================================

How many cases does a validation study need? Each line shows how wide the interval of a measure is with so many cases,
and each dot where it reaches its goal.
"""

import propriety as pr

ax = pr.plan(prevalence=0.1, auc=0.8, thresholds=0.1).plot()
