# Writes wilson.csv: python3 wilson.py > wilson.csv, with statsmodels.
import random
from statsmodels.stats.proportion import proportion_confint

random.seed(19)
print("failed,requests,low,high")
cases = [(k, n) for n in (1, 2, 10, 199, 200, 1000, 10**6) for k in (0, 1, n // 20, n // 2, n)]
cases += [(random.randint(0, n), n) for n in (random.randint(1, 50_000) for _ in range(80))]
for k, n in cases:
    low, high = proportion_confint(k, n, alpha=0.05, method="wilson")
    print(f"{k},{n},{low!r},{high!r}".replace("np.float64(", "").replace(")", ""))
