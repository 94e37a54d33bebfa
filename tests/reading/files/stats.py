def total(rows):
    return sum(rows)


def mean(rows):
    if not rows:
        return 0.0
    return total(rows) / len(rows)
