#include "mathkit/number_theory.h"

#include <gtest/gtest.h>

namespace mathkit {
namespace {

TEST(NumberTheory, GcdOfCoprimesIsOne) { EXPECT_EQ(gcd(35, 64), 1U); }

TEST(NumberTheory, GcdWithZeroIsTheOther) {
  EXPECT_EQ(gcd(0, 12), 12U);
  EXPECT_EQ(gcd(12, 0), 12U);
}

TEST(NumberTheory, ModPowAgreesWithFermat) {
  EXPECT_EQ(mod_pow(2, 10, 1000), 24U);
  EXPECT_EQ(mod_pow(3, 1000002, 1000003), 1U);
  EXPECT_EQ(mod_pow(7, 0, 1), 0U);
}

TEST(NumberTheory, IsPrimeKnowsSmallPrimes) {
  int primes = 0;
  for (unsigned n = 0; n < 1000; ++n) {
    primes += is_prime(n) ? 1 : 0;
  }
  EXPECT_EQ(primes, 168);
}

TEST(NumberTheory, IsPrimeSeesThroughCarmichaelNumbers) {
  EXPECT_FALSE(is_prime(561));
  EXPECT_FALSE(is_prime(321197185));
}

}  // namespace
}  // namespace mathkit
