"""The variants that an autopsy compares: extraction policies, import preludes, and the rules of profiles."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from passcurve.bench.profiles import NATIVE, find_profile, find_rules, fitting_profiles
from passcurve.errors import UsageError
from passcurve.extract import (
    DEFAULT,
    NO_PRELUDE,
    find_policy,
    fit_to_packages,
    policy_names,
    split_policy,
    with_prelude,
)
from passcurve.types import Benchmark, Header

ALL_PROFILES = "all"
"""Stands for all profiles that fit the kinds of checks of a benchmark."""


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """One way to make programs of texts and to judge them."""

    policy: str
    """The extraction policy, with its prelude."""
    profile: str = NATIVE
    name: str
    """The policy, with the profile where several are compared."""

    def fit_to_packages(self, packages: Sequence[str]) -> Variant:
        """Return the variant with a prelude that imports only what samples may import."""
        policy = fit_to_packages(self.policy, packages)
        name = f"{policy}{self.name.removeprefix(self.policy)}"
        return msgspec.structs.replace(self, policy=policy, name=name)


def check_names(policies: Sequence[str], preludes: Sequence[str], profiles: Sequence[str]) -> None:
    """Raise UnknownNameError for an unknown policy, prelude or profile."""
    for policy in policies:
        find_policy(policy)
    for prelude in preludes:
        with_prelude(DEFAULT, prelude)
    for profile in profiles:
        if profile != ALL_PROFILES:
            find_profile(profile)


def choose_profiles(profiles: Sequence[str], header: Header | None, benchmark: Benchmark) -> tuple[str, ...]:
    """Return the profiles to compare: by default the run's alone; ``all`` stands for those that fit the benchmark."""
    own = header.profile if header is not None else NATIVE
    chosen: list[str] = []
    for name in profiles or (own,):
        chosen += (own, *fitting_profiles(benchmark.problems)) if name == ALL_PROFILES else (name,)
    return tuple(dict.fromkeys(chosen))


def choose_variants(
    policies: Sequence[str],
    preludes: Sequence[str],
    profiles: Sequence[str],
    header: Header | None = None,
    benchmark: Benchmark | None = None,
) -> tuple[Variant, ...]:
    """Return each policy with each prelude under each profile, without repetitions; those of a judged run come first.

    Without policies and preludes, several profiles have each their own, and one profile has all policies.
    Raises UnknownNameError for an unknown policy or prelude, UsageError when there is only one variant.
    """
    own = split_policy(header.extract) if header is not None else (DEFAULT, NO_PRELUDE)
    pairs: list[tuple[str, str]] = []
    for profile in profiles:
        if len(profiles) > 1 and not policies and not preludes:
            rules = find_profile(profile) if benchmark is None else find_rules(profile, benchmark)
            own_rules = header.extract if header is not None and profile == header.profile else ""
            pairs.append((profile, own_rules or with_prelude(rules.extract, rules.prelude)))
            continue
        names = policies or (policy_names() if header is None else (own[0], *policy_names()))
        pairs += [(profile, with_prelude(policy, prelude)) for prelude in preludes or (own[1],) for policy in names]
    chosen = tuple(dict.fromkeys(pairs))
    for _, policy in chosen:
        find_policy(policy)
    if len(chosen) < 2:
        raise UsageError(f"an autopsy needs at least two policies, got only {chosen[0][1]!r}")
    return tuple(
        Variant(policy=policy, profile=profile, name=f"{policy}@{profile}" if len(profiles) > 1 else policy)
        for profile, policy in chosen
    )
