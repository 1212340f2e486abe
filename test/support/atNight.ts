/**
 * Suites that take their time and that other tests stand for by day: `npm test` leaves them out, and
 * `.github/workflows/nightly.yml` runs them, by `NIGHTLY=1 npm run test:redis`.
 */
export function atNight(define: () => void): void {
  if (process.env['NIGHTLY'] === '1') define();
}
