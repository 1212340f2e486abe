/** A package as package-lock.json has it. */
export interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly peer?: boolean;
}

/** Licences that ask for no more than to be named; anything else is a decision of the maintainers. */
const ALLOWED = new Set(['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT']);

/**
 * What forbids to ship a package: a dependency, or a package in a bundle, with a licence that nobody has agreed to.
 *
 * @param locked - `packages` of package-lock.json
 * @param bundles - the texts of the LICENSES.txt in dist/; each licence follows a line `name version (licence)`
 * @returns a line each; empty: none
 */
export function licenceProblems(locked: Readonly<Record<string, LockedPackage>>, bundles: readonly string[]): string[] {
  const installed = Object.entries(locked)
    .filter(([location, { dev }]) => location !== '' && dev !== true)
    .map(([location, { license }]) => [location.replace(/^.*node_modules\//, ''), license ?? 'no licence'] as const);
  const bundled = bundles.flatMap((text) =>
    [...text.matchAll(/^(@?[\w./-]+) \d+\.\d+\.\S+ \((.+)\)$/gm)].map(
      ([, name, license]) => [name!, license!] as const,
    ),
  );
  return [...installed, ...bundled]
    .filter(([, license]) => !ALLOWED.has(license))
    .map(([name, license]) => `${name}: the licence ${license} is not among ${[...ALLOWED].join(', ')}`);
}

/**
 * The known vulnerabilities of what users install.
 *
 * @param report - what `npm audit --json` printed
 * @returns a line each; `undefined` if the registry gave no report
 */
export function vulnerabilities(report: string): string[] | undefined {
  let found: unknown;
  try {
    ({ vulnerabilities: found } = JSON.parse(report) as { vulnerabilities?: unknown });
  } catch {
    return undefined;
  }
  if (typeof found !== 'object' || found === null) return undefined;
  return Object.entries(found as Record<string, { readonly severity: string; readonly range: string }>).map(
    ([name, { severity, range }]) => `${name} ${range}: known vulnerability (${severity}); see npm audit`,
  );
}
