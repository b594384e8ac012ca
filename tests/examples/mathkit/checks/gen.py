#!/usr/bin/python3 -I
"""Draws the cases of one judgement from a seed, and works out what is right.

    gen.py SEED

writes in/cases.txt (what the change's harness reads, see harness.cc) and
expected/answers.txt, one line a case: "<number> <function> <value>[~<allowed>]...". A value
without "~" must be met exactly; else the distance may be at most <allowed>. Whole numbers
are decimal, reals are C's hexadecimal form. References are exact (fractions, whole numbers
of any size) or Python's own math, never the library that is judged.
"""

import math
import os
import random
import sys
from fractions import Fraction

CASES_PER_FUNCTION = 40


def exact(values):
    return [Fraction(value) for value in values]


def spread(values):
    """Largest magnitude: rounding errors of sums are measured against it."""
    return max((abs(value) for value in values), default=0.0)


def near(reference, allowed):
    return f"{float(reference).hex()}~{float(allowed).hex()}"


def reals(rng, count):
    scale = 10.0 ** rng.randint(-3, 6)
    return [rng.uniform(-scale, scale) for _ in range(count)]


def listed(values):
    return " ".join([str(len(values))] + [value.hex() for value in values])


def mean(rng):
    values = reals(rng, rng.randint(1, 60))
    reference = sum(exact(values)) / len(values)
    return listed(values), [near(reference, 1e-14 * spread(values))]


def variance(rng):
    values = reals(rng, rng.randint(2, 60))
    numbers = exact(values)
    average = sum(numbers) / len(numbers)
    reference = sum((number - average) ** 2 for number in numbers) / (len(numbers) - 1)
    return listed(values), [near(reference, 1e-11 * float(reference))]


def median(rng):
    values = reals(rng, rng.randint(1, 61))
    numbers = sorted(exact(values))
    middle = len(numbers) // 2
    low = numbers[middle] if len(numbers) % 2 else numbers[middle - 1]
    return listed(values), [near((low + numbers[middle]) / 2, 1e-15 * spread(values))]


def gcd(rng):
    common = rng.getrandbits(rng.randint(1, 31)) | 1
    a = common * rng.getrandbits(rng.randint(1, 32))
    b = common * rng.getrandbits(rng.randint(1, 32))
    return f"{a} {b}", [str(math.gcd(a, b))]


def mod_pow(rng):
    bits = rng.choice([8, 31, 32, 33, 48, 63, 64])
    modulus = rng.getrandbits(bits) | 1 << (bits - 1)
    base = rng.getrandbits(64)
    exponent = rng.getrandbits(rng.randint(1, 64))
    return f"{base} {exponent} {modulus}", [str(pow(base, exponent, modulus))]


def is_known_prime(n):
    """Miller-Rabin with the first 13 primes, proven exact far beyond 64 bits."""
    primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41]
    if n < 2 or any(n % prime == 0 for prime in primes):
        return n in primes
    twos = (n - 1 & 1 - n).bit_length() - 1
    for witness in primes:
        power = pow(witness, n - 1 >> twos, n)
        chain = [power]
        for _ in range(twos - 1):
            chain.append(chain[-1] ** 2 % n)
        if power != 1 and n - 1 not in chain:
            return False
    return True


def next_prime(n):
    while not is_known_prime(n):
        n += 1
    return n


def is_prime(rng):
    kind = rng.randint(0, 2)
    if kind == 0:
        n = rng.getrandbits(rng.randint(1, 64))
    elif kind == 1:
        n = next_prime(rng.getrandbits(rng.randint(1, 62)))
    else:  # no small factor
        n = next_prime(rng.getrandbits(31)) * next_prime(rng.getrandbits(31))
    return str(n), [str(int(is_known_prime(n)))]


def erfc(rng):
    x = rng.choice([rng.uniform(-4, 4), rng.uniform(0, 3), rng.uniform(2, 25)])
    reference = math.erfc(x)
    return x.hex(), [near(reference, 1e-11 * reference)]


def polynomial(rng):
    coefficients = reals(rng, rng.randint(0, 12))
    x = rng.uniform(-3, 3)
    terms = [Fraction(c) * Fraction(x) ** i for i, c in enumerate(coefficients)]
    allowed = 1e-13 * float(sum(abs(term) for term in terms))
    return f"{x.hex()} {listed(coefficients)}", [near(sum(terms, Fraction(0)), allowed)]


def multiply(rng):
    rows, inner, columns = (rng.randint(1, 7) for _ in range(3))
    left = [reals(rng, inner) for _ in range(rows)]
    right = [reals(rng, columns) for _ in range(inner)]
    answers = []
    for row in left:
        for column in zip(*right):
            terms = [Fraction(a) * Fraction(b) for a, b in zip(row, column)]
            answers.append(near(sum(terms), 1e-13 * float(sum(map(abs, terms)))))
    cells = [value.hex() for row in left + right for value in row]
    return " ".join([f"{rows} {inner} {columns}"] + cells), answers


FUNCTIONS = [mean, variance, median, gcd, mod_pow, is_prime, erfc, polynomial, multiply]


def main():
    rng = random.Random(sys.argv[1])
    plan = [function for function in FUNCTIONS for _ in range(CASES_PER_FUNCTION)]
    rng.shuffle(plan)
    os.makedirs("in", exist_ok=True)
    os.makedirs("expected", exist_ok=True)
    with open("in/cases.txt", "w") as cases, open("expected/answers.txt", "w") as answers:
        for number, function in enumerate(plan):
            question, answer = function(rng)
            print(number, function.__name__, question, file=cases)
            print(number, function.__name__, *answer, file=answers)


if __name__ == "__main__":
    main()
