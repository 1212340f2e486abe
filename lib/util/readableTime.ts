/**
 * A time as people read it, in the terminal and in verdicts: `0.9 s`, `9.4 s`, `29 s`, `4 m 10 s`, `2 h 5 m`,
 * `3 d 4 h`. The page has the same form.
 *
 * @param ms - not negative
 */
export function readableTime(ms: number): string {
  const seconds = ms / 1_000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)} m ${whole % 60} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 2_880) return `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
  return `${Math.floor(minutes / 1_440)} d ${Math.floor((minutes % 1_440) / 60)} h`;
}
